package main

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"scv/wire"
)

// silent is an input that says nothing and does not end.
type silent struct {
	read chan struct{} // closed once somebody waits for it
	end  chan struct{}
	once sync.Once
}

func (s *silent) Read([]byte) (int, error) {
	s.once.Do(func() { close(s.read) })
	<-s.end
	return 0, io.EOF
}

// TestASignalEndsTheWaitForInput: who waits for a line or for the end of stdin does not wait for it longer than the first signal.
func TestASignalEndsTheWaitForInput(t *testing.T) {
	f := newFake(t)
	f.on(wire.SubjectConfirmList, wire.ConfirmList{})
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"chat"}, exitFailed},
		{[]string{"delegate", "any", "-"}, exitFailed},
		{[]string{"hook", "permission"}, exitOther},
		{[]string{"channels", "login", "feishu", "--app-id", "cli_x", "--owner-open-id", "ou_x"}, exitFailed},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		in := &silent{read: make(chan struct{}), end: make(chan struct{})}
		done := make(chan int, 1)
		go func() {
			done <- run(ctx, c.args, in, io.Discard, io.Discard, func(name string) string { return at(t, f.home).env[name] })
		}()
		<-in.read
		interrupt()
		select {
		case code := <-done:
			if code != c.code {
				t.Errorf("scv %v: exit %d, want %d", c.args, code, c.code)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("scv %v still waits", c.args)
		}
		close(in.end)
	}
}
