package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"scv/wire"
)

var ctx = context.Background()

// together runs calls so that all of them wait for the writer at once, and returns their answers.
func together(t *testing.T, s *Store, calls ...func(*txn) error) []error {
	t.Helper()
	held, hold := make(chan bool), make(chan bool)
	first := make(chan error, 1)
	go func() {
		first <- s.write(ctx, func(*txn) error {
			held <- true
			<-hold
			return nil
		})
	}()
	<-held
	results := make([]error, len(calls))
	var ready, done sync.WaitGroup
	for i, fn := range calls {
		ready.Add(1)
		done.Go(func() {
			c := &call{fn: fn, done: make(chan error, 1)}
			ready.Done()
			s.calls <- c
			results[i] = <-c.done
		})
	}
	ready.Wait()
	time.Sleep(20 * time.Millisecond) // until they stand in the channel; too short a time only groups less
	close(hold)
	must(t, <-first)
	done.Wait()
	return results
}

func putJournal(what string) func(*txn) error {
	return func(t *txn) error { return t.addJournal("test", "test", what, nil) }
}

func journalled(t *testing.T, s *Store) map[string]int {
	found := map[string]int{}
	for _, row := range view(t, s, func(v *View) []JournalRow { return v.Journal(1000) }) {
		found[row.What]++
	}
	return found
}

func TestWaitingCallsShareCommits(t *testing.T) {
	s := newStore(t)
	before := s.commits.Load()
	var calls []func(*txn) error
	for i := range 64 {
		calls = append(calls, putJournal(fmt.Sprint(i)))
	}
	for i, err := range together(t, s, calls...) {
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if n := s.commits.Load() - before; n > 8 {
		t.Errorf("64 waiting calls took %d commits", n)
	}
	if found := journalled(t, s); len(found) != 64 {
		t.Errorf("found %d of 64 entries", len(found))
	}
}

func TestFailureAfterWritingHarmsNobodyElse(t *testing.T) {
	s := newStore(t)
	broken := errors.New("broken")
	var calls []func(*txn) error
	for i := range 40 {
		write := putJournal(fmt.Sprint(i))
		switch i % 4 {
		case 1:
			calls = append(calls, func(t *txn) error { return errors.Join(write(t), broken) })
		case 2:
			calls = append(calls, func(t *txn) error {
				must := write(t)
				panic(must)
			})
		default:
			calls = append(calls, write)
		}
	}
	results := together(t, s, calls...)
	found := journalled(t, s)
	for i, err := range results {
		failed := i%4 == 1 || i%4 == 2
		if (err != nil) != failed {
			t.Errorf("call %d: %v", i, err)
		}
		if i%4 == 1 && !errors.Is(err, broken) {
			t.Errorf("call %d lost its own error: %v", i, err)
		}
		if want := map[bool]int{true: 0, false: 1}[failed]; found[fmt.Sprint(i)] != want {
			t.Errorf("call %d is stored %d times, want %d", i, found[fmt.Sprint(i)], want)
		}
	}
}

// A duplicate is refused because of its neighbour's write in the same group. When that neighbour fails
// later on, the refusal must not stand.
func TestRefusalNeverRestsOnWhatCameToNothing(t *testing.T) {
	s := newStore(t)
	duplicate := errors.New("duplicate")
	claimOnce := func(t *txn) error {
		if (&View{t}).SeenMessage("local:default", "m") {
			return duplicate
		}
		return (&Delivery{Shared{View{t}}}).MarkSeen("local:default", "m")
	}
	failing := func(t *txn) error { return errors.Join(claimOnce(t), errors.New("broken")) }
	results := together(t, s, failing, claimOnce)
	if !errors.Is(results[1], nil) && !errors.Is(results[0], duplicate) {
		t.Errorf("both came to nothing: %v", results)
	}
	if results[1] != nil {
		t.Errorf("refused by a write that came to nothing: %v", results[1])
	}
	if !view(t, s, func(v *View) bool { return v.SeenMessage("local:default", "m") }) {
		t.Error("the good call is not stored")
	}
}

func TestRefusalIsAnsweredAfterTheCommitItRestsOn(t *testing.T) {
	s := newStore(t)
	duplicate := errors.New("duplicate")
	calls := make([]func(*txn) error, 30)
	for i := range calls {
		calls[i] = func(t *txn) error {
			if (&View{t}).SeenMessage("local:default", "m") {
				return duplicate
			}
			return (&Delivery{Shared{View{t}}}).MarkSeen("local:default", "m")
		}
	}
	before := s.commits.Load()
	stored := 0
	for _, err := range together(t, s, calls...) {
		if err == nil {
			stored++
		} else if !errors.Is(err, duplicate) {
			t.Error(err)
		}
	}
	if stored != 1 || s.commits.Load()-before != 1 {
		t.Errorf("stored %d times in %d commits, want once", stored, s.commits.Load()-before)
	}
}

// When the commit fails, a refusal that rests on a neighbour's write in it must not be told either.
func TestRefusalFallsWithTheCommitItRestsOn(t *testing.T) {
	s := newStore(t)
	must(t, s.write(ctx, func(*txn) error { return s.handle.file.Close() })) // as if the device went away
	var first sync.Once
	calls := make([]func(*txn) error, 30)
	for i := range calls {
		calls[i] = func(t *txn) error {
			refused := errors.New("duplicate")
			first.Do(func() { refused = (&Delivery{Shared{View{t}}}).MarkSeen("local:default", "m") })
			return refused
		}
	}
	shared := 0
	for _, err := range together(t, s, calls...) {
		if errors.Is(err, ErrUnavailable) {
			shared++
		}
	}
	if shared < 2 {
		t.Errorf("%d calls were told that the commit failed, want all that shared it", shared)
	}
	if view(t, s, func(v *View) bool { return v.SeenMessage("local:default", "m") }) {
		t.Error("the write is there")
	}
	must(t, writePair(s, "after")) // on a handle that can be closed
}

func TestRefusalsCostNoCommit(t *testing.T) {
	s := newStore(t)
	before := s.commits.Load()
	refuse := wire.Refuse(wire.ComponentError, "no such account")
	err := s.Intend(ctx, func(*Intent) error { return refuse })
	if got := (*wire.Error)(nil); !errors.As(err, &got) || got != refuse {
		t.Errorf("the refusal was changed: %v", err)
	}
	must(t, s.Deliver(ctx, func(d *Delivery) error { return d.DeleteClaim("local:default", 7) }))
	if n := s.commits.Load() - before; n != 0 {
		t.Errorf("%d commits for nothing", n)
	}
}

func TestPanicIsItsCallersError(t *testing.T) {
	var log strings.Builder
	o := optionsAt("")
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	s := openTest(t, o)
	err := s.Intend(ctx, func(i *Intent) error {
		if err := i.PutAccount("local:default", testAccount()); err != nil {
			return err
		}
		panic("hunter2")
	})
	if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(log.String(), "hunter2") {
		t.Errorf("got %v, log %s", err, log.String())
	}
	if !strings.Contains(log.String(), "writer_test.go") {
		t.Errorf("no stack in the log: %s", log.String())
	}
	if n := len(view(t, s, (*View).Accounts)); n != 0 {
		t.Errorf("%d accounts of a call that panicked", n)
	}
	if err := s.View(func(*View) error { panic("hunter2") }); err == nil {
		t.Error("a panic in a View is no error")
	}
	must(t, s.Intend(ctx, func(i *Intent) error { return i.PutAccount("local:default", testAccount()) }))
}

func TestContextBoundsOnlyTheWait(t *testing.T) {
	s := newStore(t)
	held, hold := make(chan bool), make(chan bool)
	first := make(chan error, 1)
	inside, cancelInside := context.WithCancel(ctx)
	go func() {
		first <- s.write(inside, func(t *txn) error {
			held <- true
			<-hold
			return putJournal("first")(t)
		})
	}()
	<-held
	waiting, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	ran := false
	err := s.write(waiting, func(*txn) error {
		ran = true
		return nil
	})
	if !errors.Is(err, context.DeadlineExceeded) || ran {
		t.Errorf("waited too long: %v, ran %v", err, ran)
	}
	cancelInside()
	close(hold)
	if err := <-first; err != nil {
		t.Errorf("a call under way was cut: %v", err)
	}
	if journalled(t, s)["first"] != 1 {
		t.Error("its write is missing")
	}
}

func TestClosedStoreIsUnavailable(t *testing.T) {
	s := newStore(t)
	must(t, s.Close())
	must(t, s.Close())
	if err := s.Intend(ctx, func(*Intent) error { return nil }); !errors.Is(err, ErrUnavailable) {
		t.Errorf("write: %v", err)
	}
	if err := s.View(func(*View) error { return nil }); !errors.Is(err, ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
}

func TestCloseAnswersEveryCall(t *testing.T) {
	s := newStore(t)
	var calls sync.WaitGroup
	acked := make(chan string, 1000)
	for i := range 20 {
		calls.Go(func() {
			for n := range 50 {
				what := fmt.Sprint(i, "-", n)
				err := s.write(ctx, putJournal(what))
				if err == nil {
					acked <- what
				} else if !errors.Is(err, ErrUnavailable) {
					t.Error(err)
				}
			}
		})
	}
	must(t, s.Close())
	calls.Wait()
	close(acked)
	again := openTest(t, optionsAt(s.Path()))
	found := journalled(t, again)
	for what := range acked {
		if found[what] != 1 {
			t.Errorf("acknowledged %s is stored %d times", what, found[what])
		}
	}
}

func TestStoreRunsInFalseTime(t *testing.T) {
	path := t.TempDir() + "/scv.db"
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t, optionsAt(path))
		var writers sync.WaitGroup
		for i := range 8 {
			writers.Go(func() {
				for range 20 {
					if err := s.write(ctx, putJournal(fmt.Sprint(i))); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Minute)
				}
			})
		}
		writers.Wait()
		if n := len(view(t, s, func(v *View) []JournalRow { return v.Journal(1000) })); n != 160 {
			t.Errorf("%d entries", n)
		}
	})
}
