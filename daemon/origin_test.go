package daemon

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"scv/daemon/caller"
	"scv/daemon/transport"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
	"scv/wire/bus"
)

// registers has a caller own a run, as scv delegate does, and returns who is inside of it.
func (s *started) registers(v caller.Verdict, handle string) caller.Verdict {
	s.t.Helper()
	peer := transport.Peer{PID: os.Getpid(), Start: s.self.Start, UID: os.Getuid(), Verdict: v}
	c, err := bus.Connect(s.t.Context(), dialer{s.transport, peer})
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	_, err = c.DelegationRegister(s.t.Context(), wire.DelegationRegister{Handle: handle, Agent: "echo", Cwd: s.t.TempDir()})
	if err != nil {
		s.t.Fatal(err)
	}
	return caller.Verdict{Inside: true, Handles: append(v.Handles[:len(v.Handles):len(v.Handles)], handle), Reason: "test"}
}

// TestRunWithoutAChat: what scv delegate in a terminal started asks and tells in the usual order, since no
// chat asked for it. Below a run that answers a chat it is that chat, or nobody where that is not the owner's.
func TestRunWithoutAChat(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		d := startInProcess(t, home, clock.NewVirtual())
		defer d.stop()
		d.record("echo-aaaaaa")
		d.recordIn("echo-bbbbbb", "somebody else")
		for name, about := range map[string]struct {
			inside caller.Verdict
			asks   bool
		}{
			"in a terminal":          {d.registers(caller.Verdict{}, "echo-111111"), true},
			"below the owner's chat": {d.registers(shapes["inside"], "echo-222222"), true},
			"below another's chat":   {d.registers(caller.Verdict{Inside: true, Handles: []string{"echo-bbbbbb"}, Reason: "test"}, "echo-333333"), false},
		} {
			c := d.client(about.inside)
			asked, askErr := c.Control(t.Context(), wire.ConfirmAskCommand{Question: "Deploy?"})
			_, tellErr := c.Notify(t.Context(), "done "+name)
			_, startErr := d.reportsTo(call{peer: transport.Peer{Verdict: about.inside}})
			_, reached := d.ownerOf(about.inside.Handles)
			c.Close()
			for what, err := range map[string]error{"ask": askErr, "notify": tellErr, "report": startErr} {
				var refused *wire.Error
				if about.asks && err != nil || !about.asks && (!errors.As(err, &refused) || !strings.Contains(refused.Text, "owner's direct chat")) {
					t.Errorf("%s, %s: %v", name, what, err)
				}
			}
			if about.asks && (asked.Confirm == nil || asked.Confirm.Chat != defaultLocal) {
				t.Errorf("%s: asked %+v", name, asked.Confirm)
			}
			if !reached {
				t.Errorf("%s: nobody hears of what is forbidden", name)
			}
		}
	})
}

// recordIn puts a live run on record that answers the conversation of the local account.
func (s *started) recordIn(handle, conversation string) {
	s.t.Helper()
	s.record(handle)
	err := s.store.Observe(s.t.Context(), func(tx *store.Observation) error {
		run, _ := tx.Delegation(handle)
		run.Conversation = conversation
		return tx.PutDelegation(handle, run)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
