package powercut

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

const (
	cutsPerLife = 25   // of one disk
	mostAcks    = 40   // before a cut
	mostDelay   = 3000 // microseconds after the acknowledgement; a commit takes some hundreds
)

// drawMoment cuts half of the time right after an answer, and else at any moment.
func drawMoment(dice *rand.Rand) moment {
	at := moment{acks: dice.IntN(mostAcks)}
	if dice.IntN(2) == 0 {
		at.after = time.Duration(dice.IntN(mostDelay)) * time.Microsecond
	}
	return at
}

// TestPowerCuts: what was acknowledged is there after every cut, what was under way is whole or absent, and
// the store is sound and opens at once.
func TestPowerCuts(t *testing.T) {
	c := newCampaign(t)
	dice := rand.New(rand.NewPCG(c.seed, 0))
	acks, untold := 0, 0
	for done := 0; done < c.cuts; done += cutsPerLife {
		l := newLife(t, c.seed+uint64(done/cutsPerLife), "")
		for n := range min(cutsPerLife, c.cuts-done) {
			at := drawMoment(dice)
			if err := l.cut(at); err != nil {
				t.Fatalf("before cut %d, at %+v: %v", done+n, at, err)
			}
		}
		if err := l.look(); err != nil {
			t.Fatalf("after cut %d: %v", min(done+cutsPerLife, c.cuts), err)
		}
		l.disk.scrap()
		acks, untold = acks+l.acks, untold+l.untold
	}
	t.Logf("%d power cuts: %d acknowledged transactions, 0 lost; %d more found whole", c.cuts, acks, untold)
	if acks < c.cuts {
		t.Errorf("only %d acknowledgements: the test shows nothing", acks)
	}
}

// TestBrokenStoresAreNoticed holds stores that break their promise to the same measure. A life of one cut
// each, so that a loss is noticed where it happens.
func TestBrokenStoresAreNoticed(t *testing.T) {
	c := newCampaign(t)
	for broken, percent := range map[string]int{brokenSync: 90, brokenAck: 50} {
		t.Run(broken, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(c.seed, 1))
			cuts, noticed := max(c.cuts/10, 8), 0
			for n := range cuts {
				l := newLife(t, c.seed+uint64(n), broken)
				err := l.cut(moment{acks: 1 + dice.IntN(mostAcks)})
				if err == nil {
					err = l.look()
				}
				switch {
				case errors.Is(err, errBroken):
					noticed++
				case err != nil:
					t.Fatalf("cut %d: %v", n, err)
				}
				l.disk.scrap()
			}
			t.Logf("noticed after %d of %d power cuts", noticed, cuts)
			if noticed*100 < cuts*percent {
				t.Errorf("noticed after %d of %d power cuts, and it should be %d %%", noticed, cuts, percent)
			}
		})
	}
}
