package restart_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"scv/wire"
	"scv/wire/bus"
)

// sidesOf is how many homes restart at the same time: each mostly waits.
const sidesOf = 4

// TestRepeatedRestarts goes to and fro in homes side by side, while callers ask and an owner's messages
// arrive at any moment of a restart, some of them with work that outlasts it. SCV_RESTARTS sets how often.
func TestRepeatedRestarts(t *testing.T) {
	rounds := 100
	if text := os.Getenv("SCV_RESTARTS"); text != "" {
		if _, err := fmt.Sscan(text, &rounds); err != nil {
			t.Fatal(err)
		}
	}
	if testing.Short() {
		rounds = 3 * sidesOf
	}
	program(t, firstRelease)
	program(t, secondRelease)
	begin := time.Now()
	t.Cleanup(func() { t.Logf("%d restarts took %s", rounds, time.Since(begin)) })
	for side := range sidesOf {
		t.Run(fmt.Sprint("home ", side), func(t *testing.T) {
			t.Parallel()
			repeat(t, (rounds+side)/sidesOf)
		})
	}
}

func repeat(t *testing.T, rounds int) {
	releases := []string{program(t, firstRelease), program(t, secondRelease)}
	s := newSite(t, releases[0], "bin/scv")
	s.startAlone()
	pid := s.serves("1.0.0")
	w, before := s.watch(), s.descriptors(pid)
	owner := &owner{site: s}
	for round := 1; round <= rounds; round++ {
		s.install(releases[round%2])
		lasting := round%5 == 0
		if lasting { // it outlasts the wait, and so the restart
			owner.say(round, "2")
		}
		s.mustAskWithin(1)
		if !lasting {
			owner.sayAfter(time.Duration(round*61%700)*time.Millisecond, round)
		}
		if got := s.settled(fmt.Sprintf("%d.0.0", round%2+1)); got != pid {
			t.Fatalf("round %d: the pid was %d and is %d", round, pid, got)
		}
		owner.sending.Wait()
	}
	silence := w.end()
	t.Logf("%d restarts, longest silence %s, %d answers, %d failures", rounds, silence, w.answers.Load(), w.failed.Load())
	if w.failed.Load() > 0 {
		t.Errorf("%d callers were refused even on their second try: %v", w.failed.Load(), w.why.Load())
	}
	if after := s.descriptors(pid); after > before+5 {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
	s.await("every message is answered", func() bool {
		status, err := s.status()
		return err == nil && status.Delegations.Active == 0 && s.said(owner.answer(rounds)) > 0
	})
	owner.heard(rounds)
}

// owner sends a message in each round.
type owner struct {
	site    *site
	sending sync.WaitGroup
}

// text of a round's message. Its last word is how long the agent takes for it.
func (*owner) text(round int, seconds string) string {
	return fmt.Sprintf("message %04d: %s", round, seconds)
}

func (o *owner) answer(round int) string { return fmt.Sprintf("answer to message %04d: ", round) }

// say is taken once however often it is sent: each has an id.
func (o *owner) say(round int, seconds string) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := bus.Do(ctx, o.site.dialer(), func(ctx context.Context, c *bus.Client) error {
		_, err := c.ChatSend(ctx, wire.ChatSend{Account: "default", ID: fmt.Sprint("m", round), Text: o.text(round, seconds)})
		return err
	})
	if err != nil {
		o.site.t.Errorf("message %d was not taken: %v", round, err)
	}
}

func (o *owner) sayAfter(pause time.Duration, round int) {
	o.sending.Go(func() {
		time.Sleep(pause) // each round another moment of a restart
		o.say(round, "0")
	})
}

// heard counts the answers and the outcomes in the chat: each is there once.
func (o *owner) heard(rounds int) {
	s := o.site
	s.t.Helper()
	answers, outcomes := make([]int, rounds+1), 0
	s.dump(func(bucket string, value jsontext.Value) {
		switch text := string(value); {
		case bucket == "restart":
		case strings.Contains(text, "SCV now runs"):
			outcomes++
		default:
			for round := range answers {
				if strings.Contains(text, o.answer(round)) {
					answers[round]++
				}
			}
		}
	})
	for round, n := range answers[1:] {
		if n != 1 {
			s.t.Errorf("message %d was answered %d times", round+1, n)
		}
	}
	if ended := s.outcomes(); len(ended) != rounds || outcomes != rounds {
		s.t.Errorf("%d outcomes of %d restarts, and the owner heard of %d", len(ended), rounds, outcomes)
	}
}

func (s *site) descriptors(pid int) int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(entries)
}
