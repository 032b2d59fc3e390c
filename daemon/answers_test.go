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

// TestLateAnswerIsNoTask: an answer that names a question which has ended is caught, and goes to no
// agent; a word alone is an ordinary message.
func TestLateAnswerIsNoTask(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		d := startInProcess(t, home, clock.NewVirtual())
		defer d.stop()
		c := d.client(caller.Verdict{})
		defer c.Close()
		asked, err := c.Control(t.Context(), wire.ConfirmAskCommand{Question: "Deploy?"})
		if err != nil {
			t.Fatal(err)
		}
		detail, err := c.ConfirmWithdraw(t.Context(), asked.Confirm.ID)
		if err != nil {
			t.Fatal(err)
		}
		for id, text := range map[string]string{"late": "Yes " + detail.Code + "!", "other": "yes zz"} {
			if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: id, Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		answers := map[string]string{}
		err = d.store.View(func(v *store.View) error {
			for _, row := range v.ChatLines(defaultLocal, 0, 100) {
				if row.ChatLine.InReplyTo != "" {
					answers[row.ChatLine.InReplyTo] = string(row.ChatLine.Kind) + " " + row.ChatLine.Text
				}
			}
			return nil
		})
		if err != nil || !strings.Contains(answers["late"], "ended already") {
			t.Errorf("the late answer led to %q, %v", answers["late"], err)
		}
		if !strings.HasPrefix(answers["other"], string(wire.ChatFailure)) { // no agent is configured
			t.Errorf("the ordinary message led to %q", answers["other"])
		}
	})
}

// TestNamesAreNotInvented: account.set changes what there is; a mistyped name makes no account.
func TestNamesAreNotInvented(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		d := startInProcess(t, home, clock.NewVirtual())
		defer d.stop()
		c := d.client(caller.Verdict{})
		defer c.Close()
		on := true
		_, err := c.AccountSet(t.Context(), wire.AccountSet{Channel: "local", Account: "defalt", Enabled: &on})
		if err == nil || !strings.Contains(err.Error(), "local:defalt") {
			t.Errorf("got %v", err)
		}
		if _, err := c.Control(t.Context(), wire.ChannelSetCommand{Channel: "local", Account: "second", Enabled: true}); err != nil {
			t.Errorf("channel_set makes a local account: %v", err)
		}
	})
}
