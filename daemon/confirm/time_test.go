package confirm_test

import (
	"math"
	"testing"
	"time"

	"scv/daemon/confirm"
	"scv/internal/clock"
	"scv/wire"

	"github.com/google/go-cmp/cmp"
)

func TestElapsed(t *testing.T) {
	const year = 365 * 24 * time.Hour
	noted := question(t, "q", 1).Note(at(10 * time.Minute))
	rebooted := func(wall, sinceBoot time.Duration) clock.Stamp {
		return clock.Stamp{Wall: start.Add(wall), BootID: "boot-2", Boot: sinceBoot}
	}
	stepped := func(d, step time.Duration) clock.Stamp {
		s := at(d)
		s.Wall = s.Wall.Add(step)
		return s
	}
	// Asked, then the wall clock went an hour ahead, then it was noted at 10 minutes.
	steppedBefore := question(t, "q", 1).Note(stepped(10*time.Minute, time.Hour))
	cases := []struct {
		name string
		q    confirm.Question
		now  clock.Stamp
		want time.Duration
	}{
		{"at once", question(t, "q", 1), at(0), 0},
		{"not noted since", question(t, "q", 1), at(7 * time.Minute), 7 * time.Minute},
		{"noted on the way", noted, at(17 * time.Minute), 17 * time.Minute},
		{"wall an hour ahead", noted, stepped(17*time.Minute, time.Hour), 17 * time.Minute},
		{"wall a year back", noted, stepped(17*time.Minute, -year), 17 * time.Minute},
		{"suspended", noted, at(3 * time.Hour), 3 * time.Hour},
		{"rebooted", noted, rebooted(25*time.Minute, time.Minute), 25 * time.Minute},
		{"rebooted, wall a year back: stored and since boot", noted, rebooted(-year, 4*time.Minute), 14 * time.Minute},
		{"rebooted after a step that was noted", steppedBefore, rebooted(25*time.Minute+time.Hour, time.Minute), 25 * time.Minute},
		{"a clock that never ran", noted, clock.Stamp{Wall: start.AddDate(300, 0, 0), BootID: "boot-9"}, math.MaxInt64},
	}
	for _, c := range cases {
		if got := c.q.ElapsedAt(c.now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if got := c.q.Note(c.now).ElapsedAt(c.now); got != c.want {
			t.Errorf("%s: noting it made it %v, want %v", c.name, got, c.want)
		}
	}
}

func TestTickAtTheEdges(t *testing.T) {
	polled := func(ago time.Duration) func(clock.Stamp) clock.Stamp {
		return func(now clock.Stamp) clock.Stamp {
			now.Wall, now.Boot = now.Wall.Add(-ago), now.Boot-ago
			return now
		}
	}
	cases := []struct {
		name   string
		now    time.Duration
		polled func(clock.Stamp) clock.Stamp
		want   wire.ConfirmState
	}{
		{"a second before the deadline", timeout - time.Second, polled(0), wire.Pending},
		{"just before the deadline", timeout - 1, polled(0), wire.Pending},
		{"at the deadline", timeout, polled(0), wire.Expired},
		{"after it", timeout + time.Second, polled(0), wire.Expired},
		{"59.9 s unpolled", 5 * time.Minute, polled(60*time.Second - 1), wire.Pending},
		{"60 s unpolled", 5 * time.Minute, polled(60 * time.Second), wire.Withdrawn},
		{"60 s unpolled and at the deadline", timeout, polled(60 * time.Second), wire.Expired},
	}
	for _, c := range cases {
		q, line := opened(t, "q", 1).Tick(at(c.now), c.polled(at(c.now)))
		if q.State != c.want || (line != "") != c.want.Final() {
			t.Errorf("%s: %s, line %q", c.name, q.State, line)
		}
	}
}

func TestPollIsStoredSeldom(t *testing.T) {
	q := opened(t, "q", 1)
	commits := 0
	for d := time.Duration(0); d < 5*time.Minute; d += 2 * time.Second {
		var store bool
		if q, store = q.Poll(at(d)); store {
			commits++
		}
		if behind := at(d).Since(q.LastPolled); behind >= 20*time.Second {
			t.Fatalf("the stored poll is %v behind", behind)
		}
	}
	if commits != 14 { // each 20 s after the first of 300 s
		t.Errorf("%d commits", commits)
	}
}

func TestOpeningTime(t *testing.T) {
	platform := start.Add(-7 * time.Second) // its clock is behind
	theirs, _ := question(t, "q", 1).Accept(at(time.Second), platform)
	ours, _ := question(t, "q", 1).Accept(at(time.Second), time.Time{})
	again, _ := theirs.Accept(at(time.Minute), start.Add(time.Minute))
	if !theirs.Opened.Equal(platform) || !ours.Opened.Equal(start.Add(time.Second)) || !again.Opened.Equal(platform) {
		t.Errorf("opened at %v, %v, %v", theirs.Opened, ours.Opened, again.Opened)
	}
	live, _ := question(t, "q", 1).Accept(clock.Stamp{Wall: time.Now(), BootID: "boot-1"}, time.Time{})
	if live.Opened != live.Opened.Round(0) {
		t.Error("the opening keeps a monotonic reading, which the store would lose")
	}
}

func TestDetail(t *testing.T) {
	q := question(t, "0123456789ab", 0x3f)
	want := wire.ConfirmDetail{
		Confirm: wire.ConfirmInfo{ID: "0123456789ab", State: wire.Pending, Chat: account, DeadlineUnixSeconds: uint64(start.Unix()) + 1800},
		Code:    "3f", Question: "Deploy 0123456789ab?", AskedUnixSeconds: uint64(start.Unix()),
	}
	if diff := cmp.Diff(want, confirm.Detail(q)); diff != "" {
		t.Error(diff)
	}
	q.Asker = "claude-abcdef"
	q, _ = q.Accept(at(time.Second), start.Add(1500*time.Millisecond))
	r := confirm.Judge([]confirm.Question{q}, says("YES!"), at(2*time.Minute))
	want.Confirm.State, want.Asker = wire.Yes, new("claude-abcdef")
	want.OpenedUnixMillis, want.EndedUnixSeconds = new(uint64(start.UnixMilli()+1500)), new(uint64(start.Unix()+120))
	want.Receipt = &wire.ConfirmReceipt{
		Sender: owner, Chat: account, MessageID: "om_1", AtUnixMillis: uint64(start.UnixMilli() + 60000), Word: "yes",
		QuestionSHA256: "d0810dd0ada097aea63b47f45fca9da3948514fa65afed9f6903c54bd1a2c3e6",
	}
	if diff := cmp.Diff(want, confirm.Detail(r.Changed[0])); diff != "" {
		t.Error(diff)
	}
}
