package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"scv/internal/clock"
	"scv/wire"
)

// childMode makes the test binary play the part of a process that is to be killed.
const childMode = "SCV_STORE_TEST_CHILD"

var children = map[string]func(path string) error{
	"write":  childWrite,
	"create": childCreate,
	"hold":   childHold,
	"look":   childLook,

	"examine": childExamine,
	"change":  childChange,
}

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childMode)]; child != nil {
		if err := child(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// fixedClock stands still until a test moves it.
type fixedClock struct{ stamp clock.Stamp }

func (c *fixedClock) Now() clock.Stamp { return c.stamp }

func (c *fixedClock) pass(d time.Duration) {
	c.stamp.Wall = c.stamp.Wall.Add(d)
	c.stamp.Boot += d
}

func newClock() *fixedClock {
	return &fixedClock{clock.Stamp{
		Wall:   time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
		BootID: "boot-1",
		Boot:   time.Hour,
	}}
}

func optionsAt(path string) Options {
	return Options{Path: path, Clock: newClock(), Release: "0.1.0", Instance: "8973cbc5"}
}

// openTest opens a store that is checked and closed when the test ends.
func openTest(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "scv.db")
	}
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := Check(context.Background(), o.Path); err != nil {
			t.Errorf("damaged after the test: %v", err)
		}
	})
	return s
}

func newStore(t testing.TB) *Store { return openTest(t, optionsAt("")) }

// quickOptions are for tests that are not about the disk: the store never syncs.
func quickOptions(path string) Options {
	o := optionsAt(path)
	o.NoSync = true
	return o
}

func quickStore(t testing.TB) *Store { return openTest(t, quickOptions("")) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// view reads one value.
func view[T any](t testing.TB, s *Store, fn func(*View) T) (value T) {
	t.Helper()
	must(t, s.View(func(v *View) error {
		value = fn(v)
		return nil
	}))
	return value
}

func testAccount() Account {
	return Account{Enabled: true, RemoteTools: wire.ToolsOwner, Senders: wire.SendersOwner, OwnerID: "uid:1000"}
}

// fillStore writes a record of every kind, with texts that must not be shown.
func fillStore(t testing.TB, s *Store) {
	t.Helper()
	now := s.clock.Now()
	ctx := context.Background()
	must(t, s.Intend(ctx, func(i *Intent) error {
		plan := Restart{ID: "restart-1", Step: RestartWaiting, Binary: "/usr/bin/scv", FromVersion: "0.1.0", ToVersion: "0.2.0", Asked: now, MaxWait: time.Minute}
		if err := i.PutRestartPlan(plan); err != nil {
			return err
		}
		if err := i.PutLastOwner(LastOwner{Account: "local:default", Chat: "main", Terminal: true, At: now}); err != nil {
			return err
		}
		if err := i.AddJournal(KindAnswered, "owner", "answered question 0123456789ab", map[string]any{"word": "yes"}); err != nil {
			return err
		}
		return i.PutAccount("local:default", testAccount())
	}))
	must(t, s.Deliver(ctx, func(d *Delivery) error {
		if _, err := d.PutClaim("local:default", Claim{
			MessageID: "m1", Conversation: "c", Chat: "main", Sender: "uid:1000", Owner: true,
			Text: "secret-claim", Root: "secret-root", ReplyHandle: "secret-handle-1", Claimed: now,
			Files: []File{{Kind: "image", Size: 7, Ref: "secret-handle-4"}, {Kind: "document", Name: "secret-name.pdf", Ref: "secret-handle-5"}},
		}); err != nil {
			return err
		}
		for _, o := range []Outbound{
			{Kind: "reply", Chat: "main", Text: "secret-reply", ReplyHandle: "secret-handle-2", ClientID: "x1", Queued: now, Files: []Upload{{Kind: "document", Name: "secret-plan.txt", Size: 9}}},
			{Kind: "question", Chat: "main", Text: "Deploy?", Question: "0123456789ab", ClientID: "x2", Queued: now},
		} {
			if _, err := d.AddOutbound("local:default", o); err != nil {
				return err
			}
		}
		for _, l := range []ChatLine{
			{Kind: wire.ChatOwner, Text: "secret-line", MessageID: "m1", At: now.Wall},
			{Kind: wire.ChatQuestion, Text: "Deploy?", ClientID: "x2-0", At: now.Wall},
		} {
			if _, _, err := d.AddChatLine("local:default", l); err != nil {
				return err
			}
		}
		if err := d.PutReport("codex-0a1b2c", RunReport{Agent: "codex", Outcome: wire.RunFinished, Text: "secret-report", Ended: now}); err != nil {
			return err
		}
		if err := d.MarkSeen("local:default", "m0"); err != nil {
			return err
		}
		if err := d.PutCursor("local:default", "secret-handle-3"); err != nil {
			return err
		}
		return d.PutConversation("local:default", "c", Conversation{Agent: "claude", Session: "s1", Turns: 3, LastUse: now})
	}))
	fillObservations(t, s, now)
}

func fillObservations(t testing.TB, s *Store, now clock.Stamp) {
	t.Helper()
	ctx := context.Background()
	must(t, s.Observe(ctx, func(o *Observation) error {
		for _, c := range []Confirm{
			{
				ID: "0123456789ab", Code: "3f", Account: "local:default", Chat: "main", Owner: "uid:1000", Question: "Deploy?",
				Timeout: 30 * time.Minute, Asked: now, Noted: now, LastPolled: now, State: wire.Pending,
			},
			{
				ID: "ba9876543210", Code: "4e", Account: "local:default", Chat: "main", Owner: "uid:1000", Question: "Drop?",
				Timeout: 30 * time.Minute, Asked: now, Noted: now, LastPolled: now, State: wire.Yes, Opened: now.Wall, Ended: now,
				Receipt: &wire.ConfirmReceipt{Sender: "uid:1000", Chat: "local:default", MessageID: "m0", Word: "yes"},
			},
		} {
			if err := o.PutConfirm(c); err != nil {
				return err
			}
		}
		return o.PutDelegation("brave-otter", Delegation{
			Agent: "claude", Session: "s1", Depth: 1, State: RunLive, Leader: ProcessID{PID: 4242, Start: 99, Boot: "boot-1"},
			Owner: ProcessID{PID: 4000, Start: 88, Boot: "boot-1"}, Cwd: "/srv", Started: now, Ties: []ProcessID{{PID: 4243, Start: 100, Boot: "boot-1"}},
		})
	}))
}
