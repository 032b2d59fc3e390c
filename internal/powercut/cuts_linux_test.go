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

// TestBrokenStoresAreNoticed holds stores that break their promise to the same measure.
func TestBrokenStoresAreNoticed(t *testing.T) {
	c := newCampaign(t)
	for _, tc := range []struct {
		broken string
		cuts   int // of one life: a fault that shows only at some moments gets several
		least  int // lives of a hundred in which it is noticed
	}{
		{brokenSync, 1, 90},
		{brokenAck, 1, 50},
		{brokenWhole, 4, 40},
	} {
		t.Run(tc.broken, func(t *testing.T) {
			lives, noticed := max(c.cuts/20, 5), 0
			dice := rand.New(rand.NewPCG(c.seed, 1))
			for n := range lives {
				err := brokenLife(t, c.seed+uint64(n), tc.broken, tc.cuts, dice)
				switch {
				case errors.Is(err, errBroken):
					noticed++
				case err != nil:
					t.Fatalf("life %d: %v", n, err)
				}
			}
			t.Logf("noticed in %d of %d lives of %d cuts", noticed, lives, tc.cuts)
			if noticed*100 < lives*tc.least {
				t.Errorf("noticed in %d of %d lives, and it should be in %d %%", noticed, lives, tc.least)
			}
		})
	}
}

// brokenLife is the life of a store that is sound to its first cut and broken from then on, until that is
// noticed or for some more cuts. Each of those comes when there is something to lose.
func brokenLife(t *testing.T, seed uint64, broken string, cuts int, dice *rand.Rand) error {
	t.Helper()
	l := newLife(t, seed, "")
	defer l.disk.scrap()
	if err := l.cut(drawMoment(dice)); err != nil {
		return err
	}
	l.broken = broken
	for range cuts {
		at := drawMoment(dice)
		at.acks++
		if err := l.cut(at); err != nil {
			return err
		}
	}
	return l.look()
}
