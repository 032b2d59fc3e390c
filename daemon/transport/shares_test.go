package transport_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"scv/daemon/caller"
	"scv/daemon/transport"
	"scv/wire"
	"scv/wire/bus"
)

// inRun is a peer inside the run, "" for some run.
func inRun(run string) transport.Peer {
	p := transport.Peer{PID: 4712, Verdict: caller.Verdict{Inside: true}}
	if run != "" {
		p.Verdict.Handles = []string{"outer-aaaaaa", run}
	}
	return p
}

// crowd opens connections as one peer until it is turned away, or there are limit of them.
func crowd(t *testing.T, h house, p transport.Peer, first, limit int) (opened []*raw, why string) {
	t.Helper()
	for len(opened) < limit {
		r := dialRaw(t, as{h.Server, p})
		line, err := r.until("")
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "-ERR") {
			return opened, line
		}
		r.say("CONNECT {\"user\":%q}\r\nPING\r\n", name(first+len(opened)))
		r.expect("PONG")
		go func() { _, _ = io.Copy(io.Discard, r.conn) }() // who takes nothing in for 10 s is cut
		opened = append(opened, r)
	}
	return opened, ""
}

// TestRunsHaveTheirShare has runs take all they can get: one has 64 connections, all together half of
// the house, and who is outside still finds the other half.
func TestRunsHaveTheirShare(t *testing.T) {
	h := open(t, transport.Options{}, control(status))
	taken := 0
	for i := range 9 {
		run := ""
		if i > 0 {
			run = fmt.Sprintf("codex-%06d", i)
		}
		opened, why := crowd(t, h, inRun(run), taken, 100)
		taken += len(opened)
		want, words := 64, "exceeded for this delegated run"
		if i == 8 {
			want, words = 0, "all delegated runs together"
		}
		if len(opened) != want || !strings.Contains(why, words) {
			t.Errorf("run %q has %d connections, then %q; want %d, then %q", run, len(opened), why, want, words)
		}
	}
	_, err := bus.Connect(t.Context(), as{h.Server, inRun("codex-000001")})
	if !errors.Is(err, bus.ErrTurnedAway) || !strings.Contains(err.Error(), "this delegated run") {
		t.Errorf("a client of a run with too many is told %v", err)
	}
	outside, why := crowd(t, h, outsider, taken, 600)
	if len(outside) != 512 || !strings.Contains(why, "connections exceeded'") {
		t.Errorf("%d connections from outside, then %q; want 512", len(outside), why)
	}
}

// TestARunGetsItsShareBack: what a run closes, it may open again.
func TestARunGetsItsShareBack(t *testing.T) {
	h := open(t, transport.Options{}, control(status))
	opened, _ := crowd(t, h, inRun("codex-000001"), 0, 100)
	opened[0].conn.Close()
	for attempt := 1; ; attempt++ { // it is free once the connection is forgotten
		again, why := crowd(t, h, inRun("codex-000001"), 1000*attempt, 1)
		if len(again) == 1 {
			break
		}
		if attempt > 1000 {
			t.Fatalf("a place that was given back is not free: %q", why)
		}
		settle()
	}
	if _, why := crowd(t, h, inRun("codex-000001"), 1, 1); why == "" {
		t.Error("more places are free than were given back")
	}
}

// TestSilentRunsCutNobodyOutside: however many half-open connections runs have, they push out only
// their own.
func TestSilentRunsCutNobodyOutside(t *testing.T) {
	h := open(t, transport.Options{}, control(status))
	slow := dialRaw(t, as{h.Server, outsider})
	slow.expect("INFO") // it is known by now, and takes its time
	for i := range 2000 {
		r := dialRaw(t, as{h.Server, inRun(fmt.Sprint("codex-", i%8))})
		if _, err := r.until(""); err != nil { // INFO or -ERR: it is known now
			t.Fatal(err)
		}
	}
	slow.say("CONNECT {\"user\":%q}\r\nPING\r\n", name(1))
	slow.expect("PONG")
	if _, err := client(t, as{h.Server, outsider}).Control(t.Context(), wire.StatusCommand{}); err != nil {
		t.Errorf("a newcomer from outside: %v", err)
	}
}
