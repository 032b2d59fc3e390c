package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"scv/daemon/transport"
	"scv/wire"
	"scv/wire/bus"
)

// fake is a daemon without a mind: the real bus behind the real socket, with scripted answers. It can
// be stopped and started again, as a daemon that crashes.
type fake struct {
	t    *testing.T
	home string

	mu      sync.Mutex
	asked   []asked
	control func(wire.Command) (wire.DaemonStatus, error)
	answers map[string]func(data []byte) (any, error) // of the other subjects
	seams   *transport.Server                         // nil while it is down
	bus     *bus.Server
	graves  []*bus.Server // of the crashed ones
}

// asked is one request as it came.
type asked struct {
	subject, id, data string
}

func newFake(t *testing.T) *fake {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, home: home, answers: map[string]func([]byte) (any, error){}}
	f.start()
	t.Cleanup(f.stop)
	return f
}

func (f *fake) start() {
	f.t.Helper()
	log := slog.New(slog.DiscardHandler)
	seams, err := transport.Start(context.Background(), transport.Options{
		Log: log, SocketPath: bus.SocketPath(f.home, instanceID(f.home)),
		Identify: func(*net.UnixConn) transport.Peer { return transport.Peer{PID: os.Getpid(), UID: os.Getuid()} },
	})
	if err != nil {
		f.t.Fatal(err)
	}
	var endpoints []bus.Endpoint
	for i, subject := range wire.RequestSubjects() {
		endpoints = append(endpoints, bus.Endpoint{Name: "e" + string(rune('a'+i)), Subject: subject, Handle: f.answer})
	}
	server, err := bus.Serve(context.Background(), seams.DaemonConn, seams.DaemonPassword(), "1.2.3", endpoints, log)
	if err != nil {
		seams.Close()
		f.t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seams, f.bus = seams, server
}

// down takes what runs out of the fake's hands.
func (f *fake) down() (*transport.Server, *bus.Server) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seams, server := f.seams, f.bus
	f.seams, f.bus = nil, nil
	return seams, server
}

// stop ends it in order.
func (f *fake) stop() {
	seams, server := f.down()
	if seams != nil {
		server.Close()
		seams.Close()
	}
	for _, dead := range f.graves {
		dead.Close()
	}
	f.graves = nil
}

// crash cuts every connection. A handler under way may call it: its reply goes nowhere.
func (f *fake) crash() {
	seams, server := f.down()
	seams.Close()
	f.graves = append(f.graves, server)
}

func (f *fake) answer(_ context.Context, r bus.Request) ([]byte, error) {
	f.mu.Lock()
	f.asked = append(f.asked, asked{r.Subject, r.ID, string(r.Data)})
	control, other := f.control, f.answers[r.Subject]
	f.mu.Unlock()
	var reply any
	var err error
	switch {
	case r.Subject == wire.SubjectControl && control != nil:
		command, bad := wire.DecodeCommand(r.Data)
		if bad != nil {
			return nil, bad
		}
		reply, err = control(command)
	case other != nil:
		reply, err = other(r.Data)
	default:
		return nil, wire.Refuse(wire.InvalidRequest, "nothing is scripted for %s", r.Subject)
	}
	if err != nil {
		return nil, err
	}
	return wire.Encode(reply)
}

// on scripts a subject with a fixed answer.
func (f *fake) on(subject string, answer any) {
	f.script(subject, func([]byte) (any, error) { return answer, nil })
}

func (f *fake) script(subject string, answer func([]byte) (any, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[subject] = answer
}

// onControl scripts the commands.
func (f *fake) onControl(control func(wire.Command) (wire.DaemonStatus, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.control = control
}

func (f *fake) publish(subject string, v any) {
	f.mu.Lock()
	server := f.bus
	f.mu.Unlock()
	if server == nil {
		return // nobody hears what happens while it is down
	}
	if err := server.Publish(subject, v); err != nil {
		f.t.Error(err)
	}
}

// requests is what was asked so far on a subject.
func (f *fake) requests(subject string) []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	var got []asked
	for _, a := range f.asked {
		if a.subject == subject {
			got = append(got, a)
		}
	}
	return got
}

func ptr[T any](v T) *T { return &v }

// fakeStatus is a status with something in every column.
func fakeStatus() wire.DaemonStatus {
	return wire.DaemonStatus{
		Version: "1.2.3", PID: 4242,
		Components: []wire.ComponentHealth{{
			ID: "feishu:work", Channel: "feishu", Account: "work", BotID: ptr("cli_1"), Enabled: true, State: wire.Failed,
			Error: ptr("the session has expired: log in again"), Restarts: 3, RemoteTools: wire.ToolsNone, Senders: ptr(wire.SendersOwner),
		}, {
			ID: "local:default", Channel: "local", Account: "default", UserID: ptr("uid:0"), Enabled: true, State: wire.Connected,
			LastSuccessUnixSeconds: ptr(uint64(1764400000)), RemoteTools: wire.ToolsOwner, Senders: ptr(wire.SendersOwner),
		}},
		Delegations: wire.DelegationSummary{Active: 2, Idle: ptr(uint64(1)), Reaped: 5},
	}
}

// fakeRuns is a list of runs, one of each kind.
func fakeRuns() wire.DelegationSummary {
	return wire.DelegationSummary{Active: 2, Idle: ptr(uint64(1)), Reaped: 5, Entries: []wire.DelegationInfo{{
		Handle: "codex-0a1b2c", Agent: "codex", Session: "local:default", Depth: 1, PID: 77, OwnerPID: 4242, Processes: 3,
		Cwd: "/srv/工作", StartedUnixSeconds: 1764400000, Conversation: ptr("main"), Turn: ptr(uint32(4)),
	}, {
		Handle: "claude-ffffff", Agent: "claude", Session: "s", Depth: 2, PID: 78, OwnerPID: 1, Processes: 1,
		Cwd: "/", StartedUnixSeconds: 1764400001, Orphaned: true,
	}}}
}

// fakeQuestion is a question that was answered.
func fakeQuestion() wire.ConfirmDetail {
	return wire.ConfirmDetail{
		Confirm: wire.ConfirmInfo{ID: "0123456789ab", State: wire.Yes, Chat: "local:default", DeadlineUnixSeconds: 1764401800},
		Code:    "3f", Question: "Deploy \u202enow?\nReally?", Asker: ptr("codex-0a1b2c"), AskedUnixSeconds: 1764400000,
		OpenedUnixMillis: ptr(uint64(1764400000500)), EndedUnixSeconds: ptr(uint64(1764400060)),
		Receipt: &wire.ConfirmReceipt{
			Sender: "uid:0", Chat: "local:default", MessageID: "m1", AtUnixMillis: 1764400059000, Word: "yes", QuestionSHA256: "abc123",
		},
	}
}
