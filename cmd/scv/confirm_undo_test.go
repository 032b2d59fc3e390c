package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/wire"
)

// TestInterruptComesFirst: with a yes and an interrupt both there, it is always the interrupt that counts, and
// the owner hears that his yes started nothing.
func TestInterruptComesFirst(t *testing.T) {
	for range 200 { // a choice by chance would be seen
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		events := make(chan wire.ConfirmInfo, 1)
		events <- wire.ConfirmInfo{ID: askedID, State: wire.Yes}
		q := &question{info: wire.ConfirmInfo{ID: askedID, State: wire.Pending}}
		if err := q.wait(ctx, events, nil); err == nil || q.over() {
			t.Fatalf("%v, the question is %s", err, q.info.State)
		}
	}
	for name, args := range map[string][]string{
		"confirm": {"confirm", "Deploy?"}, "detailed": {"confirm", "--detailed-exitcode", "Deploy?"}, "hook": {"hook", "permission"},
	} {
		d, told := boundDaemon(t, asShown)
		h := at(t, d.home)
		h.stdin = recorded(t, "pre_tool_use.json")
		var interrupt context.CancelFunc
		h.ctx, interrupt = context.WithCancel(h.ctx)
		d.onControl(func(wire.Command) (wire.DaemonStatus, error) {
			interrupt() // before the yes is heard
			d.set(wire.Yes)
			info := d.info()
			return wire.DaemonStatus{Confirm: &info}, nil
		})
		d.script(wire.SubjectConfirmWithdraw, func([]byte) (any, error) {
			detail := fakeQuestion()
			detail.Confirm = d.info()
			return detail, nil
		})
		got := h.scv(args...)
		if name == "hook" && !strings.Contains(got.out, `"deny"`) || name != "hook" && (got.code != 2 || strings.Contains(got.out, "yes")) {
			t.Errorf("%s: %+v", name, got)
		}
		if len(*told) != 1 || !strings.HasPrefix((*told)[0], "Not going ahead after your yes, since "+noLongerWaits+": ") {
			t.Errorf("%s: the owner was told %q", name, *told)
		}
	}
}

// TestAfterTheYesTheDaemonIsAway: what must be done before a yes counts waits for the daemon, and so does telling the
// owner that it could not be done.
func TestAfterTheYesTheDaemonIsAway(t *testing.T) {
	crashOnce := func(d *askedDaemon, subject string, then func([]byte) (any, error)) {
		crashed := false
		d.script(subject, func(data []byte) (any, error) {
			if !crashed {
				crashed = true
				d.crash()
				time.AfterFunc(time.Second, d.start) // longer than one exchange tries
			}
			return then(data)
		})
	}
	d, told := boundDaemon(t, asShown)
	d.set(wire.Yes)
	answered := fakeQuestion()
	answered.Confirm = d.info()
	crashOnce(d, wire.SubjectConfirmShow, func([]byte) (any, error) { return answered, nil })
	receipt := filepath.Join(t.TempDir(), "r.json")
	if got := at(t, d.home).scv("confirm", "--receipt", receipt, "Deploy?"); got.code != 0 || !exists(receipt) || len(*told) != 0 {
		t.Errorf("with a receipt: %+v, told %q", got, *told)
	}

	t.Chdir(t.TempDir())
	if err := os.WriteFile("f", []byte("v1"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ = boundDaemon(t, asShown)
	var texts []string
	crashOnce(d, wire.SubjectNotify, func(data []byte) (any, error) {
		ask, err := wire.DecodeRequest[wire.Notify](data)
		texts = append(texts, ask.Text)
		return wire.Notified{Chat: "local:default", Text: ask.Text}, err
	})
	done := at(t, d.home).background("confirm", "--for", "f", "Deploy?")
	until(t, "it waits", d.looked(1))
	if err := os.WriteFile("f", []byte("v2"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.set(wire.Yes)
	d.publish(wire.EventConfirm+askedID, d.info())
	got := await(t, done)
	sent := d.requests(wire.SubjectNotify)
	if got.code != 2 || len(sent) != 2 || sent[0].id == "" || sent[0] != sent[1] || !strings.Contains(texts[1], "the file f is not what it was") {
		t.Errorf("for what changed: %+v, sent %v", got, sent)
	}
}
