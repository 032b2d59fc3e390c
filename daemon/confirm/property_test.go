package confirm_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/daemon/confirm"
	"scv/internal/clock"
	"scv/wire"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// world runs questions through random events and keeps its own, true time. Its wall clock is stepped
// and its machine rebooted, but not both in one run: then the rules measure exactly, and so does the test.
type world struct {
	now, booted time.Duration // true time since start, and when this boot began
	boots       int
	step        time.Duration // of the wall clock
	steps       bool          // this run has steps; else it has reboots

	questions []confirm.Question
	asked     []time.Duration // true time, of each
	accepted  []bool          // the chat has seen its text
	told      [][]string      // lines that name it as ended
	unsaid    time.Duration   // true time of the latest end without an answer that the chat saw
	unsaidAt  clock.Stamp     // the same as the daemon notes it
}

func (w *world) stamp() clock.Stamp {
	return clock.Stamp{Wall: start.Add(w.now + w.step), BootID: fmt.Sprint("boot-", w.boots), Boot: w.now - w.booted + time.Hour}
}

// platform is the chat platform's own clock, which nobody steps.
func (w *world) platform() time.Time { return start.Add(w.now) }

func (w *world) elapsed(i int) time.Duration { return w.now - w.asked[i] }

// set stores a change and holds it to the rules that every change must keep.
func (w *world) set(t *rapid.T, i int, q confirm.Question, lines ...string) {
	before := w.questions[i]
	if before.State.Final() && cmp.Diff(before, q) != "" {
		t.Fatalf("an ended question changed: %s", cmp.Diff(before, q))
	}
	if q.State != before.State {
		opened := !q.Opened.IsZero()
		over := w.elapsed(i) >= q.Timeout
		switch q.State {
		case wire.Yes, wire.No:
			if over || !opened || q.Receipt == nil || q.Receipt.Sender != owner {
				t.Fatalf("%s after %v of %v, opened %v, receipt %+v", q.State, w.elapsed(i), q.Timeout, opened, q.Receipt)
			}
		case wire.Expired:
			if !over || !opened {
				t.Fatalf("expired after %v of %v, opened %v", w.elapsed(i), q.Timeout, opened)
			}
		case wire.Withdrawn:
			if over {
				t.Fatalf("withdrawn after %v of %v", w.elapsed(i), q.Timeout)
			}
		case wire.NotAsked:
			if opened {
				t.Fatal("an opened question failed")
			}
		}
	}
	if q.ElapsedAt(w.stamp()) != w.elapsed(i) && !q.State.Final() {
		t.Fatalf("measured %v, true %v", q.ElapsedAt(w.stamp()), w.elapsed(i))
	}
	w.questions[i] = q
	told := false
	for _, line := range lines {
		if line != "" {
			w.told[i], told = append(w.told[i], line), true
		}
	}
	if confirm.Unanswered(q, told) && (told || !before.State.Final()) {
		w.unsaid, w.unsaidAt = w.now, w.stamp()
	}
}

func (w *world) pick(t *rapid.T) int {
	if len(w.questions) == 0 {
		t.Skip("no question yet")
	}
	return rapid.IntRange(0, len(w.questions)-1).Draw(t, "question")
}

func (w *world) ask(t *rapid.T) {
	if len(w.questions) == 6 {
		t.Skip("enough")
	}
	seconds := rapid.SampledFrom([]uint64{1, 90, 1800, 1 << 63}).Draw(t, "timeout")
	ask := confirm.Ask{Account: account, Chat: chat, Owner: owner, Question: "Question?", TimeoutSeconds: &seconds}
	n := len(w.questions)
	q, err := confirm.New(ask, w.stamp(), fmt.Sprint("id-", n), never, func(int) int { return 16 * (n + 1) })
	if err != nil {
		t.Fatal(err)
	}
	w.questions, w.asked = append(w.questions, q), append(w.asked, w.now)
	w.accepted, w.told = append(w.accepted, false), append(w.told, nil)
}

func (w *world) deliver(t *rapid.T) {
	i := w.pick(t)
	q := w.questions[i]
	sending := q.Attempted && !w.accepted[i]
	switch act := rapid.IntRange(0, 3).Draw(t, "delivery"); {
	case act == 0 || !q.Attempted:
		w.set(t, i, q.Attempt(w.stamp()))
	case act == 1 && sending:
		w.set(t, i, q.Refuse(w.stamp()))
	case sending:
		w.accepted[i] = true
		q, line := q.Accept(w.stamp(), w.platform())
		w.set(t, i, q, line)
	}
}

func (w *world) asker(t *rapid.T) {
	i := w.pick(t)
	q := w.questions[i]
	if rapid.Bool().Draw(t, "polls") {
		q, _ = q.Poll(w.stamp())
		w.set(t, i, q)
		return
	}
	q, line := q.Withdraw(w.stamp())
	w.set(t, i, q, line)
}

func (w *world) tick(t *rapid.T) {
	for i, q := range w.questions {
		polled := w.stamp()
		if rapid.IntRange(0, 9).Draw(t, "asker is gone") == 0 {
			polled = clock.Stamp{Wall: polled.Wall.Add(-time.Minute), BootID: polled.BootID, Boot: polled.Boot - time.Minute}
		}
		q, line := q.Tick(w.stamp(), polled)
		w.set(t, i, q, line)
		if q.State == wire.Pending && w.elapsed(i) >= q.Timeout {
			t.Fatalf("pending %v after the deadline", w.elapsed(i)-q.Timeout)
		}
	}
}

// pass lets time go by: some of it, or to the second around a deadline. Nothing looks at it meanwhile, as
// in a suspend.
func (w *world) pass(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{1, time.Second, time.Minute, time.Hour, 24 * time.Hour}).Draw(t, "time")
	if len(w.questions) > 0 && rapid.Bool().Draw(t, "to a deadline") {
		i := w.pick(t)
		edge := rapid.SampledFrom([]time.Duration{-time.Second, -1, 0, 1, time.Second}).Draw(t, "edge")
		d = max(w.questions[i].Timeout+edge-w.elapsed(i), 0)
	}
	w.now += d
}

func (w *world) disturb(t *rapid.T) {
	if w.steps {
		w.step += rapid.SampledFrom([]time.Duration{time.Hour, -time.Hour, 8760 * time.Hour, -8760 * time.Hour}).Draw(t, "step")
		return
	}
	w.now += rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Minute}).Draw(t, "down")
	w.boots++
	w.booted = w.now + time.Hour - time.Second // up for a second
}

// restart takes every question through the store.
func (w *world) restart(t *rapid.T) {
	for i, q := range w.questions {
		stored, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		var loaded confirm.Question
		if err := json.Unmarshal(stored, &loaded); err != nil {
			t.Fatal(err)
		}
		w.questions[i] = loaded
	}
}

func (w *world) answer(t *rapid.T) {
	i := w.pick(t)
	a := confirm.Answer{
		Account: account, Chat: chat, Sender: rapid.SampledFrom([]string{owner, owner, owner, "ou_other", ""}).Draw(t, "sender"),
		Direct: rapid.IntRange(0, 9).Draw(t, "direct") > 0, MessageID: "om_1", Unanswered: w.unsaidAt,
		SentAt: w.platform().Add(-rapid.SampledFrom([]time.Duration{0, 0, 0, time.Second, time.Hour}).Draw(t, "sent before")),
	}
	a.Text = rapid.SampledFrom([]string{"yes", "no", "yes " + w.questions[i].Code, "no " + w.questions[i].Code, "yes 00", "ok", "yes, but", "hello"}).Draw(t, "text")
	if rapid.IntRange(0, 4).Draw(t, "quote") == 0 {
		a.Quotes, a.Quoted = "om_q", w.questions[i].ID
	}
	r := confirm.Judge(slices.Clone(w.questions), a, w.stamp())
	w.checkRuling(t, i, a, r)
	w.apply(t, r)
}

// checkRuling holds a ruling to what the message named, by a rule of its own.
func (w *world) checkRuling(t *rapid.T, named int, a confirm.Answer, r confirm.Ruling) {
	waiting := 0 // questions whose text the owner may have seen
	for _, q := range w.questions {
		if q.State == wire.Pending && !q.Opened.IsZero() {
			waiting++
		}
	}
	answered := 0
	for _, q := range r.Changed {
		if q.State != wire.Yes && q.State != wire.No {
			continue
		}
		answered++
		byName := strings.HasSuffix(a.Text, " "+q.Code) || a.Quoted == q.ID
		if a.Sender != owner || !a.Direct || (!byName && waiting != 1) || (a.SentAt.Before(q.Opened) && a.Quoted != q.ID) {
			t.Fatalf("%+v answered %+v while %d waited", a, q, waiting)
		}
		if !byName && !w.unsaidAt.Zero() && w.now-w.unsaid < confirm.SwapGuard {
			t.Fatalf("a bare word answered %v after another question ended", w.now-w.unsaid)
		}
		if byName && q.ID != w.questions[named].ID || !strings.HasPrefix(a.Text, string(q.State)) {
			t.Fatalf("%q answered %s %s", a.Text, q.ID, q.State)
		}
	}
	if answered > 1 || (answered == 1) != (r.Verdict == confirm.Answered) {
		t.Fatalf("%d answered, verdict %d", answered, r.Verdict)
	}
}

func (w *world) apply(t *rapid.T, r confirm.Ruling) {
	for n, q := range r.Changed {
		i := slices.IndexFunc(w.questions, func(old confirm.Question) bool { return old.ID == q.ID })
		if q.State.Final() {
			w.set(t, i, q, r.Lines[n])
		} else {
			w.set(t, i, q) // a hint is no end
		}
	}
}

// begins is how the one line of each end begins; the states that need no line have the line of a
// question whose text reached the chat too late.
var begins = map[wire.ConfirmState][]string{
	wire.Yes: {"Going ahead: "}, wire.No: {"Stopped: "}, wire.Withdrawn: {"No longer asked"}, wire.NotAsked: {"No longer asked"},
	wire.Expired: {"No answer in time", "Your answer came too late"},
}

// check: the chat text and the state agree, at any time.
func (w *world) check(t *rapid.T) {
	for i, q := range w.questions {
		want := 0
		if q.State.Final() && w.accepted[i] {
			want = 1
		}
		if len(w.told[i]) != want {
			t.Fatalf("%s, accepted %v, and the chat was told %q", q.State, w.accepted[i], w.told[i])
		}
		for _, line := range w.told[i] {
			fits := func(begin string) bool { return strings.HasPrefix(line, begin) }
			if !slices.ContainsFunc(begins[q.State], fits) || !strings.Contains(line, q.Code+" «") {
				t.Fatalf("%s, and the chat was told %q", q.State, line)
			}
		}
	}
}

func TestRacesKeepTheRules(t *testing.T) { rapid.Check(t, race(new(int))) }

// race is one run of random events. It counts the questions that were asked in it.
func race(asked *int) func(*rapid.T) {
	return func(t *rapid.T) {
		w := &world{steps: rapid.Bool().Draw(t, "steps")}
		t.Repeat(map[string]func(*rapid.T){
			"ask": w.ask, "ask more": w.ask, "deliver": w.deliver, "deliver more": w.deliver, "asker": w.asker, "tick": w.tick,
			"pass": w.pass, "disturb": w.disturb, "restart": w.restart, "answer": w.answer, "answer more": w.answer, "": w.check,
		})
		*asked += len(w.questions)
	}
}

// TestTenThousandQuestions is the same until so many were asked, and every one of them kept the rules.
func TestTenThousandQuestions(t *testing.T) {
	asked, began := 0, time.Now()
	for asked < 10_000 && !t.Failed() {
		rapid.Check(t, race(&asked))
	}
	took := time.Since(began).Round(time.Millisecond)
	t.Logf("%d questions in %s", asked, took)
	if most := 120 * time.Second; took > most { // 30 s is what a quiet machine is allowed
		t.Errorf("it took %s, more than %s", took, most)
	}
}
