package daemon

import (
	"strings"
	"testing"
	"testing/synctest"

	"scv/daemon/caller"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

// TestCommandsInTheLocalChat: what an owner says to SCV itself is answered by it, while a question is open too,
// which they do not answer; over another start each has its one answer.
func TestCommandsInTheLocalChat(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		clk := clock.NewVirtual()
		d := startInProcess(t, home, clk)
		c := d.client(caller.Verdict{})
		ids, codes := asks(t, c, 1)
		for _, word := range []string{"/help", "/Status", "/stop", "/new"} {
			say(t, c, "m"+strings.Trim(strings.ToLower(word), "/"), word)
			synctest.Wait()
		}
		if got := stateOf(t, c, ids[0]); got != wire.Pending {
			t.Errorf("the question is %s", got)
		}
		c.Close()
		d.stop()
		d = startInProcess(t, home, clk)
		defer d.stop()
		synctest.Wait()
		answers := map[string][]string{}
		err := d.store.View(func(v *store.View) error {
			for _, row := range v.ChatLines(defaultLocal, 0, 100) {
				if row.ChatLine.InReplyTo != "" {
					answers[row.ChatLine.InReplyTo] = append(answers[row.ChatLine.InReplyTo], string(row.ChatLine.Kind)+" "+row.ChatLine.Text)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]string{
			"mhelp":   "yes: yes y 是",
			"mstatus": "notice SCV test\nlocal:default: connected\nHere: nothing is at work\nOpen questions here: " + codes[0] + " «Deploy 0?»",
			"mstop":   "notice Nothing is at work here.",
			"mnew":    "notice The agent begins anew",
		} {
			if got := answers[id]; len(got) != 1 || !strings.Contains(got[0], want) {
				t.Errorf("%s is answered by %q, want %q", id, got, want)
			}
		}
	})
}
