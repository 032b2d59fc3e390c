package daemon

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/caller"
	"scv/daemon/confirm"
	"scv/internal/clock"
	"scv/wire"
)

// TestAskerIsGone: an asker that was killed says nothing any more. Its question waits for a minute, is then
// withdrawn before the eyes of the chat, and a yes after that starts nothing.
func TestAskerIsGone(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		d := startInProcess(t, home, clock.NewVirtual())
		defer d.stop()
		asker, owner := d.client(caller.Verdict{}), d.client(caller.Verdict{})
		defer owner.Close()
		status, err := asker.Control(t.Context(), wire.ConfirmAskCommand{Question: "Deploy?"})
		if err != nil {
			t.Fatal(err)
		}
		id := status.Confirm.ID
		detail := func() wire.ConfirmDetail { // which, unlike a look, keeps nothing alive
			detail, err := owner.ConfirmShow(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return detail
		}
		code := detail().Code
		asker.Close()
		time.Sleep(confirm.KeepAlive - time.Second)
		if got := detail().Confirm.State; got != wire.Pending {
			t.Errorf("before its minute is over: %s", got)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if lines := d.told(code); len(lines) != 1 || !strings.HasPrefix(lines[0], "No longer asked") {
			t.Errorf("the chat was told %q", lines)
		}
		say(t, owner, "a1", "yes "+code)
		synctest.Wait()
		if got := detail(); got.Confirm.State != wire.Withdrawn || got.Receipt != nil {
			t.Errorf("after a late yes: %+v", got)
		}
	})
}

// TestChatDownAndBack: an account that is disabled for a while ends no question; the answer that comes when it is
// back counts. Meanwhile nobody can be asked there.
func TestChatDownAndBack(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		d := startInProcess(t, home, clock.NewVirtual())
		defer d.stop()
		c := d.client(caller.Verdict{})
		defer c.Close()
		enable := func(on bool) {
			t.Helper()
			if _, err := c.Control(t.Context(), wire.ChannelSetCommand{Channel: "local", Account: "default", Enabled: on}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second) // until the accounts are as they should be
			synctest.Wait()
		}
		ids, _ := asks(t, c, 1)
		enable(false)
		var refused *wire.Error
		_, err := c.Control(t.Context(), wire.ConfirmAskCommand{Question: "And this?"})
		if !errors.As(err, &refused) || refused.Code != wire.ConfirmError {
			t.Errorf("asked while the chat is down: %v", err)
		}
		if got := stateOf(t, c, ids[0]); got != wire.Pending {
			t.Errorf("while the chat is down: %s", got)
		}
		enable(true)
		say(t, c, "a1", "yes")
		synctest.Wait()
		if got := stateOf(t, c, ids[0]); got != wire.Yes {
			t.Errorf("once it is back: %s", got)
		}
	})
}

// TestForgedParents: what a caller says of where it comes from chooses no chat and names no asker.
func TestForgedParents(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		d := startInProcess(t, home, clock.NewVirtual())
		defer d.stop()
		d.record("echo-aaaaaa")
		d.recordIn("echo-bbbbbb", "somebody else") // whoever is believed to come from it is refused
		link := func(handle string) string { return d.home.Instance + "/chat-1/" + handle }
		for name, c := range map[string]struct {
			from   caller.Verdict
			parent string
			asker  string
			bad    bool
		}{
			"from outside, another's run":  {caller.Verdict{}, link("echo-bbbbbb"), "", false},
			"from outside, the owner's":    {caller.Verdict{}, link("echo-aaaaaa"), "", false},
			"from a run, another's":        {shapes["inside"], link("echo-bbbbbb"), "echo-aaaaaa", false},
			"from a run, no run at all":    {shapes["inside"], link("echo-ffffff"), "echo-aaaaaa", false},
			"another instance":             {shapes["inside"], "00000000/chat-1/echo-bbbbbb", "echo-aaaaaa", false},
			"a run that is its own parent": {caller.Verdict{}, link("echo-bbbbbb") + ";" + link("echo-bbbbbb"), "", false},
			"a loop without end":           {caller.Verdict{}, strings.Join(slices.Repeat([]string{link("echo-bbbbbb")}, 1000), ";"), "", true},
			"no chain":                     {caller.Verdict{}, "owner", "", true},
		} {
			client := d.client(c.from)
			status, err := client.Control(t.Context(), wire.ConfirmAskCommand{Question: "Deploy?", Parent: &c.parent})
			if c.bad {
				var refused *wire.Error
				if !errors.As(err, &refused) || refused.Code != wire.InvalidRequest {
					t.Errorf("%s: %v", name, err)
				}
				client.Close()
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			detail, err := client.ConfirmWithdraw(t.Context(), status.Confirm.ID)
			if err != nil || status.Confirm.Chat != defaultLocal || (detail.Asker == nil) != (c.asker == "") || detail.Asker != nil && *detail.Asker != c.asker {
				t.Errorf("%s: %+v, %v", name, detail, err)
			}
			client.Close()
		}
	})
}

// TestTwoQuestionsOfOneRun: each reaches the owner, and each gets its own answer.
func TestTwoQuestionsOfOneRun(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		d := startInProcess(t, home, clock.NewVirtual())
		defer d.stop()
		d.record("echo-aaaaaa")
		run, owner := d.client(shapes["inside"]), d.client(caller.Verdict{})
		defer run.Close()
		defer owner.Close()
		ids, codes := asks(t, run, 2)
		say(t, owner, "a1", "yes") // names none
		say(t, owner, "a2", "no "+codes[1])
		say(t, owner, "a3", "yes "+codes[0])
		synctest.Wait()
		if first, second := stateOf(t, run, ids[0]), stateOf(t, run, ids[1]); first != wire.Yes || second != wire.No {
			t.Errorf("%s and %s", first, second)
		}
	})
}
