package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/wire"
)

const askedID = "0123456789ab"

// askedDaemon is a fake that takes one question; where it stands is the test's to say.
type askedDaemon struct {
	*fake
	mu    sync.Mutex
	state wire.ConfirmState
	looks int
}

func newAskedDaemon(t *testing.T) *askedDaemon {
	d := &askedDaemon{fake: newFake(t), state: wire.Pending}
	d.onControl(func(c wire.Command) (wire.DaemonStatus, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if _, ok := c.(wire.ConfirmStatusCommand); ok {
			d.looks++
		}
		info := d.info()
		return wire.DaemonStatus{Version: "1.2.3", Components: []wire.ComponentHealth{}, Confirm: &info}, nil
	})
	d.script(wire.SubjectConfirmWithdraw, func([]byte) (any, error) {
		d.set(wire.Withdrawn)
		detail := fakeQuestion()
		detail.Confirm = d.info()
		return detail, nil
	})
	return d
}

func (d *askedDaemon) info() wire.ConfirmInfo {
	return wire.ConfirmInfo{ID: askedID, State: d.state, Chat: "local:default", DeadlineUnixSeconds: uint64(time.Now().Add(time.Hour).Unix())}
}

func (d *askedDaemon) set(s wire.ConfirmState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = s
}

func (d *askedDaemon) looked(times int) func() bool {
	return func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.looks >= times
	}
}

// until waits for a condition; the deadline is only there for a test that fails.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("it never happened: %s", what)
		}
	}
}

// background runs scv and hands over its result.
func (h *hand) background(args ...string) <-chan result {
	done := make(chan result, 1)
	go func() { done <- h.scv(args...) }()
	return done
}

func await(t *testing.T, done <-chan result) result {
	t.Helper()
	select {
	case r := <-done:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("scv did not end")
		return result{}
	}
}

// TestConfirmExitCodes: exit 0 for exactly yes and for nothing else, whatever a daemon may say.
func TestConfirmExitCodes(t *testing.T) {
	for _, c := range []struct {
		state           string
		plain, detailed int
		word            string
	}{
		{"yes", 0, 0, "yes"},
		{"no", 1, 1, "no"},
		{"expired", 1, 3, "expired"},
		{"withdrawn", 2, 4, "withdrawn"},
		{"failed", 2, 5, "failed"},
		{"unknown", 2, 2, "unknown"},
		{"YES", 2, 2, "unknown"},
		{"yes_but", 2, 2, "unknown"},
		{"", 2, 2, "unknown"},
	} {
		d := newAskedDaemon(t)
		d.set(wire.ConfirmState(c.state))
		for flag, want := range map[string]int{"": c.plain, "--detailed-exitcode ": c.detailed} {
			got := at(t, d.home).scv(strings.Fields("confirm " + flag + "Deploy?")...)
			if got.code != want || got.out != c.word+"\n" {
				t.Errorf("%q with %q: exit %d, stdout %q; want %d, %q", c.state, flag, got.code, got.out, want, c.word)
			}
			if !strings.Contains(got.errOut, "asked in local:default; waiting until ") {
				t.Errorf("%q: stderr %q", c.state, got.errOut)
			}
		}
	}
}

// TestConfirmEndsOnTheEvent: the answer is told by the event, long before the next look.
func TestConfirmEndsOnTheEvent(t *testing.T) {
	d := newAskedDaemon(t)
	done := at(t, d.home).background("confirm", "--json", "Deploy?")
	until(t, "it waits", d.looked(1))
	d.set(wire.Yes)
	answered := time.Now()
	d.publish(wire.EventConfirm+askedID, d.info())
	got := await(t, done)
	if took := time.Since(answered); took > keepAlive/3 {
		t.Errorf("it took %s, so it was no event", took)
	} else {
		t.Logf("%s from the event to the exit", took)
	}
	if got.code != 0 || !strings.HasPrefix(got.out, `{"id":"0123456789ab","state":"yes","chat":"local:default","deadline_unix_seconds":`) {
		t.Errorf("exit %d, stdout %q, stderr %q", got.code, got.out, got.errOut)
	}
}

// TestConfirmIgnoresAnotherQuestion: a yes to something else is never ours.
func TestConfirmIgnoresAnotherQuestion(t *testing.T) {
	d := newAskedDaemon(t)
	done := at(t, d.home).background("confirm", "Deploy?")
	until(t, "it waits", d.looked(1))
	other := d.info()
	other.ID, other.State = "ffffffffffff", wire.Yes
	d.publish(wire.EventConfirm+askedID, other)
	if got := await(t, done); got.code != 2 || got.out != "" {
		t.Errorf("exit %d, stdout %q", got.code, got.out)
	}
}

// TestConfirmSurvivesARestart: the daemon is away for a while; one question, and its answer counts.
func TestConfirmSurvivesARestart(t *testing.T) {
	d := newAskedDaemon(t)
	done := at(t, d.home).background("confirm", "Deploy?")
	until(t, "it waits", d.looked(1))
	d.stop()
	d.set(wire.Yes)
	d.start()
	got := await(t, done)
	if got.code != 0 || got.out != "yes\n" || !strings.Contains(got.errOut, "the daemon went away") || !strings.Contains(got.errOut, "the daemon is back") {
		t.Errorf("exit %d, stdout %q, stderr %q", got.code, got.out, got.errOut)
	}
	asks := 0
	for _, r := range d.requests(wire.SubjectControl) {
		if strings.Contains(r.data, "confirm_ask") {
			asks++
		}
	}
	if asks != 1 {
		t.Errorf("asked %d times", asks)
	}
}

// TestConfirmRepeatsTheSameAsk: the daemon dies before it said which question it asked.
func TestConfirmRepeatsTheSameAsk(t *testing.T) {
	f := newFake(t)
	crashed := false
	f.onControl(func(c wire.Command) (wire.DaemonStatus, error) {
		if !crashed {
			crashed = true
			f.crash()
			f.start()
		}
		return wire.DaemonStatus{Confirm: &wire.ConfirmInfo{ID: askedID, State: wire.No, Chat: "local:default"}}, nil
	})
	h := at(t, f.home)
	h.env["SCV_PARENT"] = "8973cbc5/local:default/codex-0a1b2c"
	got := h.scv("confirm", "--timeout", "90s", " Deploy? ")
	sent := f.requests(wire.SubjectControl)
	if got.code != 1 || len(sent) != 2 || sent[0] != sent[1] || sent[0].id == "" {
		t.Fatalf("exit %d, stderr %q, sent %v", got.code, got.errOut, sent)
	}
	want := `{"action":"confirm_ask","question":" Deploy? ","parent":"8973cbc5/local:default/codex-0a1b2c","timeout_seconds":90}`
	if sent[0].data != want {
		t.Errorf("sent %s, want %s", sent[0].data, want)
	}
}

// TestConfirmInterrupted: it withdraws at once, and exits 2 even if a yes came in that moment.
func TestConfirmInterrupted(t *testing.T) {
	for late, told := range map[wire.ConfirmState]string{
		wire.Withdrawn: "scv: interrupted\n", // the rest stands on stdout
		wire.Yes:       "scv: interrupted; the question is yes\n",
	} {
		d := newAskedDaemon(t)
		d.script(wire.SubjectConfirmWithdraw, func(data []byte) (any, error) {
			if string(data) != `{"id":"`+askedID+`"}` {
				return nil, fmt.Errorf("withdraws %s", data)
			}
			d.set(late)
			detail := fakeQuestion()
			detail.Confirm = d.info()
			return detail, nil
		})
		h := at(t, d.home)
		var interrupt context.CancelFunc
		h.ctx, interrupt = context.WithCancel(h.ctx)
		done := h.background("confirm", "--detailed-exitcode", "Deploy?")
		until(t, "it waits", d.looked(1))
		began := time.Now()
		interrupt()
		got := await(t, done)
		if got.code != 2 || strings.Contains(got.out, "yes") || !strings.HasSuffix(got.errOut, "\n"+told) {
			t.Errorf("exit %d, stdout %q, stderr %q", got.code, got.out, got.errOut)
		}
		if took := time.Since(began); took > lastWords {
			t.Errorf("it took %s", took)
		}
	}
}

// TestConfirmInterruptedWithAHungDaemon: the withdrawal is tried no longer than lastWords.
func TestConfirmInterruptedWithAHungDaemon(t *testing.T) {
	d := newAskedDaemon(t)
	release := make(chan struct{})
	d.script(wire.SubjectConfirmWithdraw, func([]byte) (any, error) {
		<-release
		return fakeQuestion(), nil
	})
	h := at(t, d.home)
	var interrupt context.CancelFunc
	h.ctx, interrupt = context.WithCancel(h.ctx)
	done := h.background("confirm", "Deploy?")
	until(t, "it waits", d.looked(1))
	began := time.Now()
	interrupt()
	got := await(t, done)
	took := time.Since(began)
	close(release)
	if got.code != 2 || got.out != "" || took > lastWords+time.Second {
		t.Errorf("exit %d after %s, stdout %q, stderr %q", got.code, took, got.out, got.errOut)
	}
}

// TestConfirmRefusals end at once with exit 2, whether at the ask or later.
func TestConfirmRefusals(t *testing.T) {
	f := newFake(t)
	f.onControl(func(wire.Command) (wire.DaemonStatus, error) {
		return wire.DaemonStatus{}, wire.Refuse(wire.ConfirmError, "no chat can be asked")
	})
	if got := at(t, f.home).scv("confirm", "Deploy?"); got.code != 2 || got.out != "" || !strings.HasPrefix(got.errOut, "scv: no chat can be asked\n") {
		t.Errorf("exit %d, stdout %q, stderr %q", got.code, got.out, got.errOut)
	}
	f.onControl(func(c wire.Command) (wire.DaemonStatus, error) {
		if _, look := c.(wire.ConfirmStatusCommand); look {
			return wire.DaemonStatus{}, wire.Refuse(wire.ConfirmError, "no such question")
		}
		return wire.DaemonStatus{Confirm: &wire.ConfirmInfo{ID: askedID, State: wire.Pending, Chat: "local:default"}}, nil
	})
	if got := at(t, f.home).scv("confirm", "Deploy?"); got.code != 2 || got.out != "" || !strings.Contains(got.errOut, "scv: no such question\n") {
		t.Errorf("exit %d, stdout %q, stderr %q", got.code, got.out, got.errOut)
	}
	f.onControl(func(wire.Command) (wire.DaemonStatus, error) { return fakeStatus(), nil })
	if got := at(t, f.home).scv("confirm", "Deploy?"); got.code != 2 || got.out != "" {
		t.Errorf("without a question: exit %d, stdout %q", got.code, got.out)
	}
}

// TestConfirmWaitsOutAFullDisk: a store that cannot be written for the moment ends no question.
func TestConfirmWaitsOutAFullDisk(t *testing.T) {
	d := newAskedDaemon(t)
	d.onControl(func(c wire.Command) (wire.DaemonStatus, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		info := d.info()
		if _, look := c.(wire.ConfirmStatusCommand); look {
			d.looks++
			return wire.DaemonStatus{}, wire.Refuse(wire.Unavailable, "the disk is full")
		}
		return wire.DaemonStatus{Confirm: &info}, nil
	})
	done := at(t, d.home).background("confirm", "Deploy?")
	until(t, "it waits", d.looked(1))
	d.set(wire.Yes)
	d.publish(wire.EventConfirm+askedID, d.info())
	if got := await(t, done); got.code != 0 || !strings.Contains(got.errOut, "the disk is full; still waiting") {
		t.Errorf("exit %d, stderr %q", got.code, got.errOut)
	}
}

// TestConfirmKeepsAsking: it asks again and again, which keeps the question alive, and by that also
// finds an answer whose event was lost.
func TestConfirmKeepsAsking(t *testing.T) {
	d := newAskedDaemon(t)
	out := &strings.Builder{}
	a := quickApp(t, d.home, "", out)
	done := make(chan error, 1)
	go func() { done <- dispatch(a, []string{"confirm", "Deploy?"}) }()
	until(t, "it asks again", d.looked(4))
	d.set(wire.Yes)
	if err := <-done; exitCode(err) != 0 || out.String() != "yes\n" {
		t.Errorf("%v, stdout %q", err, out)
	}
}

// TestConfirmTimeouts: seconds are rounded up, and an absurd timeout neither overflows nor waits for ever.
func TestConfirmTimeouts(t *testing.T) {
	for given, want := range map[string]string{"1ns": "1", "1500ms": "2", "30m": "1800", "2540400h": "9145440000"} {
		d := newAskedDaemon(t)
		d.set(wire.Expired)
		if got := at(t, d.home).scv("confirm", "--timeout", given, "Deploy?"); got.code != 1 {
			t.Errorf("%s: exit %d, stderr %q", given, got.code, got.errOut)
		}
		if sent := d.requests(wire.SubjectControl); !strings.HasSuffix(sent[0].data, `"timeout_seconds":`+want+"}") {
			t.Errorf("%s: sent %s", given, sent[0].data)
		}
	}
}

// TestConfirmOutputLost: a yes that could not be printed is no yes.
func TestConfirmOutputLost(t *testing.T) {
	d, told := boundDaemon(t, asShown)
	d.set(wire.Yes)
	var errOut strings.Builder
	code := run(t.Context(), []string{"confirm", "Deploy?"}, strings.NewReader(""), fullDisk{}, &errOut, func(name string) string {
		return map[string]string{"SCV_HOME": d.home}[name]
	})
	if code != 2 || len(*told) != 1 || !strings.HasPrefix((*told)[0], "Not going ahead after your yes, since the answer could not be told") {
		t.Errorf("exit %d, stderr %q, the owner was told %q", code, errOut.String(), *told)
	}
}
