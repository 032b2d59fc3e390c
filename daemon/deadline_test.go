package daemon

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/caller"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
	"scv/wire/bus"
)

// asks puts questions that wait a minute, and returns their ids and codes.
func asks(t *testing.T, c *bus.Client, n int) (ids, codes []string) {
	t.Helper()
	synctest.Wait() // until there is an account to ask in
	for i := range n {
		status, err := c.Control(t.Context(), wire.ConfirmAskCommand{Question: fmt.Sprint("Deploy ", i, "?"), TimeoutSeconds: new(uint64(60))})
		if err != nil {
			t.Fatal(err)
		}
		detail, err := c.ConfirmShow(t.Context(), status.Confirm.ID)
		if err != nil {
			t.Fatal(err)
		}
		ids, codes = append(ids, status.Confirm.ID), append(codes, detail.Code)
	}
	synctest.Wait() // until the chat has them
	return ids, codes
}

func say(t *testing.T, c *bus.Client, id, text string) {
	t.Helper()
	if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: id, Text: text}); err != nil {
		t.Fatal(err)
	}
}

func stateOf(t *testing.T, c *bus.Client, id string) wire.ConfirmState {
	t.Helper()
	status, err := c.Control(t.Context(), wire.ConfirmStatusCommand{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return status.Confirm.State
}

// told is every line of the chat that says how a question ended.
func (s *started) told(code string) (lines []string) {
	s.t.Helper()
	err := s.store.View(func(v *store.View) error {
		for _, row := range v.ChatLines(defaultLocal, 0, 1000) {
			if row.ChatLine.Kind == wire.ChatNotice && strings.Contains(row.ChatLine.Text, ": "+code+" «") {
				lines = append(lines, row.ChatLine.Text)
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return lines
}

// TestAnswersAroundTheDeadline: what the chat says and what the asker hears are the same, whichever side
// of the deadline an answer falls, also a second one, and also after another start of the daemon.
func TestAnswersAroundTheDeadline(t *testing.T) {
	edges := []time.Duration{-time.Second, -10 * time.Millisecond, 0, 10 * time.Millisecond, time.Second}
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		clk := clock.NewVirtual()
		d := startInProcess(t, home, clk)
		c := d.client(caller.Verdict{})
		ids, codes := asks(t, c, len(edges))
		asked := time.Now()
		time.Sleep(30 * time.Second)
		for _, id := range ids {
			stateOf(t, c, id)
		}
		for i, edge := range edges {
			time.Sleep(time.Until(asked.Add(time.Minute + edge)))
			say(t, c, fmt.Sprint("first-", i), "yes "+codes[i])
			say(t, c, fmt.Sprint("second-", i), "no "+codes[i])
		}
		synctest.Wait()
		check := func(when string) {
			for i, id := range ids {
				want, begins := wire.Yes, "Going ahead: "
				if edges[i] >= 0 {
					want, begins = wire.Expired, "No answer in time"
				}
				lines := d.told(codes[i])
				late := want == wire.Expired && len(lines) == 1 && strings.HasPrefix(lines[0], "Your answer came too late")
				if got := stateOf(t, c, id); got != want || len(lines) != 1 || !strings.HasPrefix(lines[0], begins) && !late {
					t.Errorf("%s, answered at %v: %s, and the chat says %q", when, edges[i], got, lines)
				}
			}
		}
		check("at once")
		c.Close()
		d.stop()
		d = startInProcess(t, home, clk)
		defer d.stop()
		c = d.client(caller.Verdict{})
		defer c.Close()
		check("after another start")
	})
}

// TestClocksAndQuestions: a suspend counts, and no timer that fires late lets an answer through; those
// who ask get a fresh minute after it. The wall clock may jump as it likes.
func TestClocksAndQuestions(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		clk := clock.NewVirtual()
		d := startInProcess(t, home, clk)
		defer d.stop()
		c := d.client(caller.Verdict{})
		defer c.Close()
		ids, codes := asks(t, c, 1)
		clk.Suspend(61 * time.Second)
		say(t, c, "late", "yes "+codes[0])
		if got := stateOf(t, c, ids[0]); got != wire.Expired {
			t.Errorf("answered after a suspend over the deadline: %s", got)
		}

		status, err := c.Control(t.Context(), wire.ConfirmAskCommand{Question: "Still?"})
		if err != nil {
			t.Fatal(err)
		}
		long := status.Confirm.ID
		time.Sleep(10 * time.Second)
		clk.Suspend(20 * time.Minute)
		time.Sleep(50 * time.Second)
		if got := stateOf(t, c, long); got != wire.Pending {
			t.Errorf("50 s after a suspend: %s", got)
		}
		for _, step := range []time.Duration{time.Hour, -time.Hour, 365 * 24 * time.Hour, -2 * 365 * 24 * time.Hour} {
			clk.Step(step)
			time.Sleep(10 * time.Second)
			if got := stateOf(t, c, long); got != wire.Pending {
				t.Errorf("10 s after a step of %v: %s", step, got)
			}
		}
		time.Sleep(61 * time.Second) // nobody asks
		detail, err := c.ConfirmShow(t.Context(), long)
		if err != nil || detail.Confirm.State != wire.Withdrawn {
			t.Errorf("a minute after the last asking: %s, %v", detail.Confirm.State, err)
		}
		code := detail.Code
		synctest.Wait()
		if lines := d.told(code); len(lines) != 1 || !strings.HasPrefix(lines[0], "No longer asked") {
			t.Errorf("the chat says %q", lines)
		}
	})
}
