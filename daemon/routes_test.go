package daemon

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"scv/daemon/caller"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
	"scv/wire/bus"
)

// shapes are the callers that a door may meet.
var shapes = map[string]caller.Verdict{
	"outside":  {},
	"inside":   {Inside: true, Handles: []string{"echo-aaaaaa"}, Reason: "test"},
	"some run": {Inside: true, Reason: "test"},
	"gone":     {Inside: true, Gone: true, Reason: "test"},
}

// allowed is what the promise of docs/security.md says of each request: who gets past the door. A
// request may still be refused for another reason.
var allowed = map[string][]string{
	"status":              {"outside", "inside", "some run"},
	"reload":              {"outside"},
	"channel_set":         {"outside"},
	"channel_logout":      {"outside"},
	"delegations":         {"outside", "inside", "some run"},
	"delegation_kill":     {"outside"},
	"restart_when_idle":   {"outside", "inside", "some run"},
	"confirm_ask":         {"outside", "inside", "some run"},
	"confirm_status":      {"outside"}, // the question asked about is the owner's
	"confirm_status own":  {"outside", "inside"},
	"account.set":         {"outside"},
	"confirm.withdraw":    {"outside"},
	"confirm.show":        {"outside"},
	"confirm.list":        {"outside"},
	"chat.send":           {"outside"},
	"chat.attach":         {"outside"},
	"store.snapshot":      {"outside"},
	"notify":              {"outside", "inside", "some run"}, // which has no chat: refused, but not by the door
	"restart.explain":     {"outside", "inside", "some run"},
	"delegation.start":    {"outside", "inside", "some run"},
	"delegation.register": {"outside", "inside", "some run"},
	"delegation.update":   {"outside", "inside", "some run"}, // only its owner can: the process, not the run
	"delegation.wait":     {"outside"},                       // the run asked about is the owner's
	"delegation.explain":  {"outside"},
}

// requests makes one request of each kind. own is a question of the run, others one of the owner.
func requests(t *testing.T, c *bus.Client, own, others string) map[string]func() error {
	control := func(command wire.Command) func() error {
		return func() error { _, err := c.Control(t.Context(), command); return err }
	}
	handle := "echo-bbbbbb" // of the owner
	return map[string]func() error{
		"status":             control(wire.StatusCommand{}),
		"reload":             control(wire.ReloadCommand{}),
		"channel_set":        control(wire.ChannelSetCommand{Channel: "local", Account: "default", Enabled: true}),
		"channel_logout":     control(wire.ChannelLogoutCommand{Channel: "local", Account: "other"}),
		"delegations":        control(wire.DelegationsCommand{}),
		"delegation_kill":    control(wire.DelegationKillCommand{Handle: &handle}),
		"restart_when_idle":  control(wire.RestartWhenIdleCommand{}),
		"confirm_ask":        control(wire.ConfirmAskCommand{Question: "ok?"}),
		"confirm_status":     control(wire.ConfirmStatusCommand{ID: others}),
		"confirm_status own": control(wire.ConfirmStatusCommand{ID: own}),
		"account.set": func() error {
			_, err := c.AccountSet(t.Context(), wire.AccountSet{Channel: "local", Account: "default"})
			return err
		},
		"confirm.withdraw": func() error { _, err := c.ConfirmWithdraw(t.Context(), others); return err },
		"confirm.show":     func() error { _, err := c.ConfirmShow(t.Context(), others); return err },
		"confirm.list":     func() error { _, err := c.ConfirmList(t.Context(), wire.ConfirmListRequest{}); return err },
		"chat.send": func() error {
			_, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: "x1", Text: "hello"})
			return err
		},
		"chat.attach":     func() error { _, err := c.ChatAttach(t.Context(), wire.ChatAttach{Account: "default"}); return err },
		"restart.explain": func() error { _, err := c.RestartExplain(t.Context(), wire.RestartExplain{}); return err },
		"delegation.start": func() error {
			_, err := c.DelegationStart(t.Context(), wire.DelegationStart{Agent: "none", Prompt: "hello", Cwd: "/"})
			return err
		},
		"delegation.register": func() error {
			_, err := c.DelegationRegister(t.Context(), wire.DelegationRegister{Handle: "echo-cccccc", Agent: "echo", Cwd: "/"})
			return err
		},
		"delegation.update": func() error {
			_, err := c.DelegationUpdate(t.Context(), wire.DelegationUpdate{Handle: handle, Outcome: wire.RunFinished})
			return err
		},
		"delegation.wait":    func() error { _, err := c.DelegationWait(t.Context(), handle); return err },
		"delegation.explain": func() error { _, err := c.DelegationExplain(t.Context(), handle); return err },
		"notify":             func() error { _, err := c.Notify(t.Context(), "done"); return err },
		"store.snapshot": func() error {
			snapshot, err := c.StoreSnapshot(t.Context())
			if err == nil {
				err = os.Remove(snapshot.Path)
			}
			return err
		},
	}
}

// record puts a live run of the local chat on record, owned by this process.
func (s *started) record(handle string) {
	s.t.Helper()
	err := s.store.Observe(s.t.Context(), func(tx *store.Observation) error {
		return tx.PutDelegation(handle, store.Delegation{
			Agent: "echo", Session: "chat-1", Account: defaultLocal, Conversation: localOwner(), Depth: 1,
			State: store.RunLive, Leader: store.ProcessID{PID: 1 << 22, Start: 1, Boot: "an earlier boot"},
			Owner: store.ProcessID(s.self), Cwd: "/", Started: s.clock.Now(),
		})
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestDoors sends every request as every caller: exactly those that the promise names get past the
// door, and a refusal changes nothing.
func TestDoors(t *testing.T) {
	for shape, verdict := range shapes {
		t.Run(shape, func(t *testing.T) {
			home := newHome(t, "")
			synctest.Test(t, func(t *testing.T) {
				d := startInProcess(t, home, clock.NewVirtual())
				defer d.stop()
				d.record("echo-aaaaaa")
				d.record("echo-bbbbbb")
				owner := d.client(caller.Verdict{})
				defer owner.Close()
				agent := d.client(shapes["inside"])
				defer agent.Close()
				own, err := agent.Control(t.Context(), wire.ConfirmAskCommand{Question: "may I?"})
				if err != nil {
					t.Fatal(err)
				}
				others, err := owner.Control(t.Context(), wire.ConfirmAskCommand{Question: "shall it?"})
				if err != nil {
					t.Fatal(err)
				}
				c := d.client(verdict)
				defer c.Close()
				all := requests(t, c, own.Confirm.ID, others.Confirm.ID)
				if len(all) != len(allowed) {
					t.Fatalf("%d requests, %d rules", len(all), len(allowed))
				}
				for name, ask := range all {
					var refused *wire.Error
					forbidden := errors.As(ask(), &refused) && refused.Code == wire.Forbidden
					if want := !slices.Contains(allowed[name], shape); forbidden != want {
						t.Errorf("%s as %s: forbidden is %v, want %v (%v)", name, shape, forbidden, want, refused)
					}
					if forbidden && strings.ContainsAny(strings.Split(refused.Text, " is not for ")[0], "._") {
						t.Errorf("%s as %s: a person does not know what was refused: %s", name, shape, refused.Text)
					}
				}
			})
		})
	}
}

// TestEveryRouteHasADoor holds the table of TestDoors to the routes: a new one must be judged.
func TestEveryRouteHasADoor(t *testing.T) {
	d := &Daemon{}
	for _, a := range d.actions() {
		if _, judged := allowed[a.name]; !judged {
			t.Errorf("action %s is missing in the test of doors", a.name)
		}
	}
	for _, r := range d.routes() {
		name := r.subject[len("daemon."):]
		if _, judged := allowed[name]; !judged && r.subject != wire.SubjectControl {
			t.Errorf("route %s is missing in the test of doors", r.subject)
		}
	}
}

// TestOwnerHearsOncePerRun: a run that tries closed doors is written down each time, and its owner is
// told once.
func TestOwnerHearsOncePerRun(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		d := startInProcess(t, home, clock.NewVirtual())
		defer d.stop()
		d.record("echo-aaaaaa")
		c := d.client(shapes["inside"])
		defer c.Close()
		for range 3 {
			if _, err := c.Control(t.Context(), wire.ReloadCommand{}); err == nil {
				t.Fatal("reload was not refused")
			}
		}
		synctest.Wait()
		var told, journaled int
		err := d.store.View(func(v *store.View) error {
			for _, row := range v.ChatLines(defaultLocal, 0, 100) {
				if row.ChatLine.Kind == wire.ChatNotice {
					told++
				}
			}
			for _, row := range v.Journal(100) {
				if row.JournalEntry.Kind == "forbidden" && row.JournalEntry.Who == "echo-aaaaaa" {
					journaled++
				}
			}
			return nil
		})
		if err != nil || told != 1 || journaled != 3 {
			t.Errorf("told %d times, written down %d times, %v; want 1 and 3", told, journaled, err)
		}
	})
}
