package powercut

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// errBroken is a promise that was not kept. Every other error is trouble of the test's own.
var errBroken = errors.New("a promise was broken")

// promise is what one worker was told.
type promise struct {
	known  uint64 // its newest transaction that was found on the disk
	acked  uint64 // and that was acknowledged since
	ledger ledger // as of the known one
}

// life is one disk from its making on, and what its store promised.
type life struct {
	disk     *disk
	seed     uint64
	broken   string
	promises [workers]promise

	acks   int // in all
	untold int // transactions that nobody was told of, found whole after a cut
}

func newLife(t *testing.T, seed uint64, broken string) *life {
	t.Helper()
	l := &life{disk: newDisk(t, mountings[seed%uint64(len(mountings))]), seed: seed, broken: broken}
	for w := range l.promises {
		l.promises[w].ledger = ledger{}
	}
	return l
}

// moment is when the power is cut: so many acknowledgements after the work began, and then a little later.
type moment struct {
	acks  int
	after time.Duration
}

// cut lets a child go on with the work until a moment and then cuts the power. The error is errBroken if
// what the child found is not what was promised before.
func (l *life) cut(at moment) error {
	l.disk.t.Helper()
	b := l.disk.boot("work", strconv.FormatUint(l.seed, 10), l.broken)
	if err := l.compare(b); err != nil {
		b.kill()
		return err
	}
	return errors.Join(l.workUntil(b, at), b.end())
}

// workUntil hears the child's acknowledgements, cuts the power at the moment, and hears the rest of them.
func (l *life) workUntil(b *boot, at moment) error {
	l.disk.t.Helper()
	defer startWriteback(l.disk).end()
	heard, failed := 0, false
	for {
		if heard == at.acks && !failed {
			time.Sleep(at.after)
			l.disk.cut()
			failed = true
		}
		word, worker := b.hear()
		if word == "" && failed {
			return nil
		}
		w, err := strconv.Atoi(worker)
		if word != sayAcked || err != nil || w >= workers {
			b.kill()
			return fmt.Errorf("the child stopped working: it said %q %q", word, worker)
		}
		l.promises[w].acked++
		l.acks++
		heard++
	}
}

// look compares once more, after the last cut.
func (l *life) look() error {
	l.disk.t.Helper()
	b := l.disk.boot("look")
	if err := l.compare(b); err != nil {
		b.kill()
		return err
	}
	return b.end()
}

// compare hears what a child found and holds it against what was promised.
func (l *life) compare(b *boot) error {
	text, err := b.expect(sayHolds)
	if err != nil {
		return fmt.Errorf("%w: the store does not open: %w", errBroken, err)
	}
	var held [workers]ledger
	if err := json.Unmarshal([]byte(text), &held); err != nil {
		return fmt.Errorf("cannot read what the child found: %w", err)
	}
	for w := range held {
		found := held[w].transactions()
		if found > l.promises[w].acked {
			l.untold++
		}
		if err := l.promises[w].compare(l.seed, w, held[w], found); err != nil {
			return fmt.Errorf("%w: worker %d: %w", errBroken, w, err)
		}
	}
	return nil
}

// compare holds one worker's records against its promise and begins the next one there. The one
// transaction that was under way may be there or not, but whole.
func (p *promise) compare(seed uint64, worker int, held ledger, found uint64) error {
	switch {
	case found < p.acked:
		return fmt.Errorf("it was told that transaction %d is durable, and the last there is %d", p.acked, found)
	case found > p.acked+1:
		return fmt.Errorf("it was told of transaction %d only, and the last there is %d", p.acked, found)
	}
	for n := p.known + 1; n <= found; n++ {
		p.ledger.apply(plan(seed, worker, n))
	}
	p.known, p.acked = found, found
	if diff := cmp.Diff(p.ledger, held); diff != "" {
		return fmt.Errorf("its records are not those of transaction %d (-want +got):\n%s", found, diff)
	}
	return nil
}
