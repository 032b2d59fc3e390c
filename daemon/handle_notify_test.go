package daemon

import (
	"errors"
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

// notified is what the local chat shows of notices, in order.
func (s *started) notified() (texts []string) {
	s.t.Helper()
	err := s.store.View(func(v *store.View) error {
		for _, row := range v.ChatLines(defaultLocal, 0, 1000) {
			if strings.HasPrefix(row.ChatLine.Text, "scv notify: ") {
				texts = append(texts, row.ChatLine.Text)
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return texts
}

// TestNotify: one line for each request, also where it is repeated, over a restart, and by whom it is.
func TestNotify(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		clk := clock.NewVirtual()
		d := startInProcess(t, home, clk)
		d.record("echo-aaaaaa")
		first := bus.WithRequestID(t.Context(), "request-1")
		say := func(d *started, v caller.Verdict, text string) {
			t.Helper()
			c := d.client(v)
			defer c.Close()
			got, err := c.Notify(first, text)
			if err != nil || got.Chat != defaultLocal || got.Text != strings.ReplaceAll(strings.TrimSpace(text), "\n", "⏎") {
				t.Fatalf("got %+v, %v", got, err)
			}
		}
		say(d, caller.Verdict{}, " backup\ndone ")
		say(d, caller.Verdict{}, " backup\ndone ")
		say(d, caller.Verdict{}, "another")
		say(d, shapes["inside"], "another")
		synctest.Wait()
		d.stop()
		d = startInProcess(t, home, clk)
		defer d.stop()
		say(d, caller.Verdict{}, " backup\ndone ")
		synctest.Wait()
		want := "[scv notify: a script says\n«backup⏎done» scv notify: a script says\n«another» scv notify: echo-aaaaaa says\n«another»]"
		if got := fmt.Sprint(d.notified()); got != want {
			t.Errorf("the chat shows %s, want %s", got, want)
		}
	})
}

// TestNoticesAreBounded: a run that loops is stopped by a sentence, together with what it started, and
// nobody else is. A restart forgives nothing; an hour does.
func TestNoticesAreBounded(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		clk := clock.NewVirtual()
		d := startInProcess(t, home, clk)
		d.record("echo-aaaaaa")
		d.record("echo-bbbbbb")
		below := caller.Verdict{Inside: true, Handles: []string{"echo-aaaaaa", "echo-cccccc"}, Reason: "test"}
		other := caller.Verdict{Inside: true, Handles: []string{"echo-bbbbbb"}, Reason: "test"}
		say := func(d *started, v caller.Verdict, times int) (err error) {
			c := d.client(v)
			defer c.Close()
			for i := range times {
				if _, err = c.Notify(t.Context(), fmt.Sprint("line ", i)); err != nil {
					return fmt.Errorf("line %d: %w", i, err)
				}
			}
			return nil
		}
		if err := say(d, below, 20); err != nil {
			t.Fatal(err)
		}
		d.stop()
		d = startInProcess(t, home, clk)
		defer d.stop()
		refused := func(err error) bool {
			var r *wire.Error
			return errors.As(err, &r) && r.Code == wire.ConfirmError && strings.Contains(r.Text, "within an hour")
		}
		if err := say(d, shapes["inside"], 11); !refused(err) || !strings.HasPrefix(err.Error(), "line 10: ") {
			t.Errorf("the 31st line of a run: %v", err)
		}
		if err := say(d, other, 30); err != nil {
			t.Errorf("another run: %v", err)
		}
		if err := say(d, caller.Verdict{}, 300); err != nil {
			t.Errorf("outside: %v", err)
		}
		if err := say(d, caller.Verdict{}, 1); !refused(err) {
			t.Errorf("the 301st line from outside: %v", err)
		}
		time.Sleep(time.Hour)
		if err := say(d, shapes["inside"], 1); err != nil {
			t.Errorf("an hour later: %v", err)
		}
	})
}

// TestNotifyRefuses what is no line, and where nobody hears.
func TestNotifyRefuses(t *testing.T) {
	home := newHome(t, "[notify]\nowner = [\"local:other\"]\n")
	synctest.Test(t, func(t *testing.T) {
		d := startInProcess(t, home, clock.NewVirtual())
		defer d.stop()
		for text, want := range map[string]wire.Code{
			" \n": wire.InvalidRequest, strings.Repeat("x", wire.MaxNotify+1): wire.InvalidRequest, "done": wire.ConfirmError,
		} {
			c := d.client(caller.Verdict{})
			_, err := c.Notify(t.Context(), text)
			var r *wire.Error
			if !errors.As(err, &r) || r.Code != want {
				t.Errorf("%.10q: %v", text, err)
			}
			c.Close()
		}
		if got := d.notified(); len(got) != 0 {
			t.Errorf("and yet %q", got)
		}
	})
}
