package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// TestChangesSendOneRequest: each change is exactly this one message.
func TestChangesSendOneRequest(t *testing.T) {
	f := newFake(t)
	f.onControl(func(c wire.Command) (wire.DaemonStatus, error) {
		status := fakeStatus()
		if _, ok := c.(wire.DelegationKillCommand); ok {
			status.Delegations.Killed = []string{"codex-0a1b2c"}
		}
		return status, nil
	})
	f.on(wire.SubjectAccountSet, wire.AccountSettings{Component: fakeStatus().Components[1], Agent: ptr("codex")})
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, subject, want, shown string }{
		{"reload", wire.SubjectControl, `{"action":"reload"}`, "reloaded"},
		{
			"channels set local:default --agent codex --remote-tools none --senders anyone --enable", wire.SubjectAccountSet,
			`{"channel":"local","account":"default","enabled":true,"remote_tools":"none","senders":"anyone","agent":"codex"}`, "codex",
		},
		{
			"channels set local:default --workspace . --disable", wire.SubjectAccountSet,
			`{"channel":"local","account":"default","enabled":false,"workspace":"` + cwd + `"}`, "local:default",
		},
		{
			"channels set local:default --agent=", wire.SubjectAccountSet,
			`{"channel":"local","account":"default","agent":""}`, "the configured default",
		},
		{"channels enable a:b", wire.SubjectAccountSet, `{"channel":"a","account":"b","enabled":true}`, "connected"},
		{"channels disable a:b", wire.SubjectAccountSet, `{"channel":"a","account":"b","enabled":false}`, "connected"},
		{"channels logout a:b", wire.SubjectControl, `{"action":"channel_logout","channel":"a","account":"b"}`, "logged out a:b"},
		{"delegations kill h-1", wire.SubjectControl, `{"action":"delegation_kill","handle":"h-1","orphans":false}`, "stopped codex-0a1b2c"},
		{"kill -- --orphans", wire.SubjectControl, `{"action":"delegation_kill","handle":"--orphans","orphans":false}`, "stopped"},
		{"kill --orphans", wire.SubjectControl, `{"action":"delegation_kill","orphans":true}`, "stopped"},
		{"ps --all", wire.SubjectControl, `{"action":"delegations","all":true}`, "no agent"},
	} {
		before := len(f.requests(c.subject))
		got := at(t, f.home).scv(strings.Fields(c.args)...)
		sent := f.requests(c.subject)[before:]
		if len(sent) != 1 || sent[0].data != c.want {
			t.Errorf("scv %s sent %v, want %s", c.args, sent, c.want)
		}
		if got.code != 0 || !strings.Contains(got.out, c.shown) {
			t.Errorf("scv %s: exit %d, stdout %q, stderr %q", c.args, got.code, got.out, got.errOut)
		}
	}
}

// TestRefusals: the daemon's sentence, escaped, exit 1, and a hint where the sentence cannot know it.
func TestRefusals(t *testing.T) {
	f := newFake(t)
	for code, hint := range map[wire.Code]string{
		wire.InvalidJSON:    "older than this scv",
		wire.Forbidden:      "from a shell that no agent started",
		wire.ComponentError: "",
		wire.Unavailable:    "",
	} {
		f.onControl(func(wire.Command) (wire.DaemonStatus, error) {
			return wire.DaemonStatus{}, wire.Refuse(code, "no such account \x1b[2J")
		})
		got := at(t, f.home).scv("channels", "logout", "a:b")
		if got.code != 1 || !strings.HasPrefix(got.errOut, "scv: no such account "+`\x1b[2J`+"\n") || !strings.Contains(got.errOut, hint) {
			t.Errorf("%s: exit %d, stderr %q", code, got.code, got.errOut)
		}
	}
}

// TestBrokenConnectionIsAskedOnceMore: the daemon dies with the request in its hands; the repeat carries
// the same request id, so that it is one effect.
func TestBrokenConnectionIsAskedOnceMore(t *testing.T) {
	f := newFake(t)
	stopped := false
	f.onControl(func(wire.Command) (wire.DaemonStatus, error) {
		if !stopped {
			stopped = true
			f.crash()
			f.start()
		}
		return fakeStatus(), nil
	})
	got := at(t, f.home).scv("channels", "logout", "a:b")
	sent := f.requests(wire.SubjectControl)
	if got.code != 0 || len(sent) != 2 || sent[0] != sent[1] || sent[0].id == "" {
		t.Errorf("exit %d, stderr %q, sent %v", got.code, got.errOut, sent)
	}
}

// TestSilentDaemon: it accepts and says nothing. Within 3 s we say so and who it is.
func TestSilentDaemon(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "daemon.lock"), []byte("4242 1234567\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", bus.SocketPath(home, instanceID(home)))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, words := range [][]string{{"reload"}, {"restart", "--when-idle"}} {
		began := time.Now()
		got := at(t, home).scv(words...)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%q took %s", words, took)
		}
		if got.code != 1 || !strings.Contains(got.errOut, "the daemon (pid 4242) is running but does not answer") {
			t.Errorf("%q: exit %d, stderr %q", words, got.code, got.errOut)
		}
	}
}

// TestForeignServer: whatever speaks another language at the socket makes no hang and no success.
func TestForeignServer(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", bus.SocketPath(home, instanceID(home)))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			conn.Close()
		}
	}()
	if got := at(t, home).scv("status"); got.code != 1 || got.errOut == "" {
		t.Errorf("exit %d, stderr %q", got.code, got.errOut)
	}
	listener.Close()
	<-served
}
