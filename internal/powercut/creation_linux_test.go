package powercut

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// TestPowerCutAtCreation cuts the power while a store is made: after that there is none or a whole one,
// a whole one if its maker was told so, and the next start makes do with either.
func TestPowerCutAtCreation(t *testing.T) {
	c := newCampaign(t)
	cuts := max(c.cuts/4, 8)
	takes := timeCreation(t)
	found := map[string]int{}
	for n := range cuts {
		// From its first moment to a little after its usual end; the last one after its real end.
		at := takes * time.Duration(n) * 5 / time.Duration(4*cuts)
		word, err := cutCreation(t, c.seed+uint64(n), "", at, n == cuts-1)
		if err != nil {
			t.Fatalf("cut %d, %v after the begin: %v", n, at, err)
		}
		found[word]++
	}
	t.Logf("%d power cuts within %v: no store %d times, a whole one %d times", cuts, takes*5/4, found[sayNone], found[sayWhole])
	if found[sayNone] == 0 || found[sayWhole] == 0 {
		t.Errorf("the cuts missed the creation: %v", found)
	}
}

// TestUnsafeCreationIsNoticed writes a new store as it must not be written.
func TestUnsafeCreationIsNoticed(t *testing.T) {
	c := newCampaign(t)
	const cuts = 4
	for n := range cuts {
		if _, err := cutCreation(t, c.seed+uint64(n), brokenCreation, 0, true); !errors.Is(err, errBroken) {
			t.Errorf("cut %d: not noticed: %v", n, err)
		}
	}
}

// timeCreation is how long it takes to make a store on an empty disk.
func timeCreation(t *testing.T) time.Duration {
	t.Helper()
	d := newDisk(t, mountings[0])
	b := d.boot("create", "")
	_, err := b.expect(sayNone)
	must(t, err)
	_, err = b.expect(sayBegin)
	must(t, err)
	begun := time.Now()
	_, err = b.expect(sayMade)
	must(t, err)
	takes := time.Since(begun)
	must(t, b.end())
	d.scrap()
	return takes
}

// cutCreation cuts the power a while after a creation began, or when it is said to have ended. It returns
// what the next start found.
func cutCreation(t *testing.T, seed uint64, broken string, after time.Duration, atEnd bool) (word string, err error) {
	t.Helper()
	d := newDisk(t, mountings[seed%uint64(len(mountings))])
	defer d.scrap()
	b := d.boot("create", broken)
	for _, want := range []string{sayNone, sayBegin} {
		if _, err := b.expect(want); err != nil {
			return "", err
		}
	}
	made := false
	if atEnd {
		if _, err := b.expect(sayMade); err != nil {
			return "", err
		}
		made = true
	} else {
		time.Sleep(after)
	}
	d.cut()
	if word, _ := b.hear(); word == sayMade {
		made = true
	}
	_ = b.end() // without power it may say anything
	return startAfter(d, made)
}

// startAfter starts after a cut and sees that all is well then.
func startAfter(d *disk, made bool) (word string, err error) {
	b := d.boot("create", "")
	word, _ = b.hear()
	switch {
	case word != sayNone && word != sayWhole:
		return "", fmt.Errorf("%w: what is there is no whole store: %w", errBroken, b.end())
	case word == sayNone && made:
		return "", errors.Join(fmt.Errorf("%w: the store was made, and there is none", errBroken), b.end())
	}
	if _, err := b.expect(sayBegin); err != nil {
		return "", err
	}
	if _, err := b.expect(sayMade); err != nil {
		return "", fmt.Errorf("%w: the next start fails: %w", errBroken, err)
	}
	left, _ := filepath.Glob(filepath.Join(d.dir, ".*tmp*")) // the pattern is sound
	if len(left) > 0 {
		return "", errors.Join(fmt.Errorf("left over: %q", left), b.end())
	}
	return word, b.end()
}
