package daemon

import (
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/caller"
	"scv/daemon/confirm"
	"scv/internal/clock"
	"scv/wire"
	"scv/wire/bus"
)

// TestQuestionSwappedUnderTheOwner: an asker takes its question back and asks another one at once. The owner's
// yes to the first is not taken for the second, also over a restart of the daemon; a code is, and so is a yes later.
func TestQuestionSwappedUnderTheOwner(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		clk := clock.NewVirtual()
		d := startInProcess(t, home, clk)
		swapped := func(c *bus.Client) (id, code string) {
			t.Helper()
			ids, _ := asks(t, c, 1)
			synctest.Wait()
			if _, err := c.ConfirmWithdraw(t.Context(), ids[0]); err != nil {
				t.Fatal(err)
			}
			ids, codes := asks(t, c, 1)
			synctest.Wait()
			return ids[0], codes[0]
		}
		said := func(c *bus.Client, id, text string) {
			t.Helper()
			if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: id, Text: text}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		c := d.client(caller.Verdict{})
		id, code := swapped(c)
		time.Sleep(250 * time.Millisecond)
		said(c, "a1", "yes")
		if got := stateOf(t, c, id); got != wire.Pending {
			t.Errorf("a bare yes at once: %s", got)
		}
		c.Close()
		d.stop()
		d = startInProcess(t, home, clk)
		defer d.stop()
		c = d.client(caller.Verdict{})
		defer c.Close()
		said(c, "a2", "yes")
		if got := stateOf(t, c, id); got != wire.Pending {
			t.Errorf("after a restart: %s", got)
		}
		said(c, "a3", "yes "+code)
		if got := stateOf(t, c, id); got != wire.Yes {
			t.Errorf("by its code: %s", got)
		}
		id, _ = swapped(c)
		time.Sleep(confirm.SwapGuard)
		said(c, "a4", "yes")
		if got := stateOf(t, c, id); got != wire.Yes {
			t.Errorf("a bare yes later: %s", got)
		}
	})
}
