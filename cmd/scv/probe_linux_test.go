package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// doors is one request through every door, against what is the owner's. The value is whether somebody
// inside a run gets past the door: what is refused for another reason counts as past it, as a restart into a
// release that nobody has.
func doors(c *bus.Client, question, handle string) map[string]struct {
	inside bool
	ask    func(context.Context) error
} {
	type door = struct {
		inside bool
		ask    func(context.Context) error
	}
	control := func(inside bool, command wire.Command) door {
		return door{inside, func(ctx context.Context) error { _, err := c.Control(ctx, command); return err }}
	}
	none := wire.ToolsNone
	return map[string]door{
		"control status":              control(true, wire.StatusCommand{}),
		"control delegations":         control(true, wire.DelegationsCommand{All: true}),
		"control confirm_ask":         control(true, wire.ConfirmAskCommand{Question: "May I?", TimeoutSeconds: new(uint64(1))}),
		"control confirm_status":      control(false, wire.ConfirmStatusCommand{ID: question}),
		"control reload":              control(false, wire.ReloadCommand{}),
		"control channel_set":         control(false, wire.ChannelSetCommand{Channel: "local", Account: "default", RemoteTools: &none}),
		"control channel_logout":      control(false, wire.ChannelLogoutCommand{Channel: "local", Account: "other"}),
		"control delegation_kill":     control(false, wire.DelegationKillCommand{Handle: &handle}),
		"control restart_when_idle":   control(true, wire.RestartWhenIdleCommand{Version: new("none")}),
		"control delegation_kill all": control(false, wire.DelegationKillCommand{Orphans: true}),
		wire.SubjectAccountSet: {false, func(ctx context.Context) error {
			_, err := c.AccountSet(ctx, wire.AccountSet{Channel: "local", Account: "default"})
			return err
		}},
		wire.SubjectConfirmWithdraw: {false, func(ctx context.Context) error { _, err := c.ConfirmWithdraw(ctx, question); return err }},
		wire.SubjectConfirmShow:     {false, func(ctx context.Context) error { _, err := c.ConfirmShow(ctx, question); return err }},
		wire.SubjectConfirmList: {false, func(ctx context.Context) error {
			_, err := c.ConfirmList(ctx, wire.ConfirmListRequest{All: true})
			return err
		}},
		wire.SubjectChatSend: {false, func(ctx context.Context) error {
			_, err := c.ChatSend(ctx, wire.ChatSend{Account: "default", ID: randomID(), Text: "yes", Terminal: true})
			return err
		}},
		wire.SubjectChatAttach: {false, func(ctx context.Context) error {
			_, err := c.ChatAttach(ctx, wire.ChatAttach{Account: "default", Terminal: true})
			return err
		}},
		wire.SubjectRestartExplain: {true, func(ctx context.Context) error {
			_, err := c.RestartExplain(ctx, wire.RestartExplain{ID: new("none")})
			return err
		}},
		wire.SubjectStoreSnapshot: {false, func(ctx context.Context) error { _, err := c.StoreSnapshot(ctx); return err }},
		wire.SubjectNotify:        {true, func(ctx context.Context) error { _, err := c.Notify(ctx, "hello"); return err }},
		wire.SubjectDelegationStart: {true, func(ctx context.Context) error {
			_, err := c.DelegationStart(ctx, wire.DelegationStart{Agent: "none", Prompt: "x", Cwd: "/"})
			return err
		}},
		wire.SubjectDelegationRegister: {true, func(ctx context.Context) error {
			_, err := c.DelegationRegister(ctx, wire.DelegationRegister{Handle: "none", Agent: "none", Cwd: "/"})
			return err
		}},
		wire.SubjectDelegationUpdate: {true, func(ctx context.Context) error {
			_, err := c.DelegationUpdate(ctx, wire.DelegationUpdate{Handle: "none", Outcome: wire.RunFinished})
			return err
		}},
		wire.SubjectDelegationWait:    {false, func(ctx context.Context) error { _, err := c.DelegationWait(ctx, handle); return err }},
		wire.SubjectDelegationExplain: {false, func(ctx context.Context) error { _, err := c.DelegationExplain(ctx, handle); return err }},
	}
}

// What a test binary that is one of the callers is to do; see TestEveryDoorFromEveryCaller.
var (
	probeDoors = flag.String("probe-doors", "", "HOME,QUESTION,RUN,OUT,AFTER: try every door once the file AFTER is there, and write to OUT which let us past")
	passSocket = flag.String("pass-socket", "", "HOME,SOCKET: connect to the daemon and hand the connection to whoever listens on SOCKET")
)

// TestProbe is no test of its own: it is what other processes run.
func TestProbe(t *testing.T) {
	switch {
	case *passSocket != "":
		home, socket, _ := strings.Cut(*passSocket, ",")
		if err := handOver(bus.SocketPath(home, instanceID(home)), socket); err != nil {
			t.Fatal(err)
		}
	case *probeDoors != "":
		p := strings.Split(*probeDoors, ",")
		waitForFile(t, p[4])
		out, err := os.OpenFile(p[3], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		tell := func(word, name string) { fmt.Fprintf(out, "%s %s\n", word, name) } // one write: who is killed meanwhile has told the rest
		err = tryDoors(t.Context(), bus.SocketDialer(bus.SocketPath(p[0], instanceID(p[0]))), p[1], p[2], tell)
		tell("end", fmt.Sprint(err))
	default:
		t.Skip("TestEveryDoorFromEveryCaller runs it in other processes")
	}
}

func waitForFile(t *testing.T, path string) {
	t.Helper()
	for limit := time.Now().Add(2 * time.Minute); !exists(path); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s never came", path)
		}
	}
}

// tryDoors tries every door at once, and tells which are shut and which let us past. A daemon that is away is
// waited for.
func tryDoors(ctx context.Context, d bus.Dialer, question, run string, tell func(word, name string)) (err error) {
	var c *bus.Client
	for limit := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		if c, err = bus.Connect(ctx, d); err == nil {
			break
		}
		if time.Now().After(limit) {
			return err
		}
	}
	defer c.Close()
	var trying sync.WaitGroup
	for name, door := range doors(c, question, run) {
		trying.Go(func() {
			refused, ok := asRefusal(door.ask(ctx))
			tell(map[bool]string{true: "shut", false: "past"}[ok && refused.Code == wire.Forbidden], name)
		})
	}
	trying.Wait()
	return nil
}

// handOver connects to one socket and passes the connection through another.
func handOver(daemon, to string) error {
	conn, err := net.Dial("unix", daemon)
	if err != nil {
		return err
	}
	defer conn.Close()
	file, err := conn.(*net.UnixConn).File()
	if err != nil {
		return err
	}
	defer file.Close()
	taker, err := net.Dial("unix", to)
	if err != nil {
		return err
	}
	defer taker.Close()
	if _, _, err := taker.(*net.UnixConn).WriteMsgUnix([]byte("x"), syscall.UnixRights(int(file.Fd())), nil); err != nil {
		return err
	}
	_, _ = taker.Read(make([]byte, 1)) // until the taker is done: whoever connected still lives
	return nil
}

// handed is a connection that another process has made.
type handed struct{ conn net.Conn }

func (h handed) Dial(context.Context) (net.Conn, error) { return h.conn, nil }

// takeOver waits for a connection on a socket and tries every door with it.
func takeOver(t *testing.T, l *net.UnixListener, question, run string, tell func(word, name string)) error {
	taker, err := l.AcceptUnix()
	if err != nil {
		return err
	}
	defer taker.Close()
	rights := make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := taker.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return errors.Join(err, errors.New("no connection was handed over"))
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fds[0]), "handed")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return err
	}
	return tryDoors(t.Context(), handed{conn}, question, run, tell)
}
