package restart

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/internal/clock"
)

// agreed is a folder with a hand-over under way, from a program to another.
func agreed(t *testing.T) (Folder, Handover) {
	t.Helper()
	f := In(t.TempDir())
	self, err := HashOf(running())
	if err != nil {
		t.Fatal(err)
	}
	h := Handover{
		Plan: "0123456789ab", Binary: filepath.Join(f.home, "bin", "scv"), Args: []string{"scv", "run"}, Dir: "/",
		Old: Release{Version: "1.0.0", Schema: 1, SHA256: self}, New: Release{Version: "2.0.0", Schema: 2, SHA256: strings.Repeat("0", 64)},
	}
	if err := f.Agree(h); err != nil {
		t.Fatal(err)
	}
	return f, h
}

// TestTheFirstVerdictStands: guard and daemon may give one at the same time, and both obey the same.
func TestTheFirstVerdictStands(t *testing.T) {
	f, _ := agreed(t)
	if v, given := f.Verdict(); given {
		t.Fatalf("given already: %+v", v)
	}
	long := "because of\n" + strings.Repeat("x", 600)
	back, err := f.give(Verdict{Why: long}, byGuard)
	if err != nil || back.OK || !strings.HasPrefix(back.Why, "because of x") || !strings.HasSuffix(back.Why, "…") {
		t.Fatalf("given: %+v, %v", back, err)
	}
	for _, by := range []side{byDaemon, byGuard} {
		for _, v := range []Verdict{{OK: true}, {Why: "another reason"}} {
			if stands, err := f.give(v, by); err != nil || stands != back {
				t.Errorf("by %s: %+v, %v", by, stands, err)
			}
		}
	}
}

// TestBeatsAreReadAsWritten holds the format to both sides of it.
func TestBeatsAreReadAsWritten(t *testing.T) {
	f, _ := agreed(t)
	if b, ok := f.readBeat(); ok {
		t.Fatalf("a beat before the first: %+v", b)
	}
	now := clock.System{}.Now()
	want := Beat{PID: 4711, Version: "2.0.0", Phase: Migrating, BootID: now.BootID, Boot: int64(now.Boot)}
	if err := f.writeBeat(want); err != nil {
		t.Fatal(err)
	}
	if b, ok := f.readBeat(); !ok || b != want || b.age(clock.System{}.Now()) < 0 {
		t.Errorf("read %+v, %v", b, ok)
	}
}

// TestBeatsKeepTheirAge: a step of the clock makes no sign of life older or younger.
func TestBeatsKeepTheirAge(t *testing.T) {
	clk := clock.NewVirtual()
	now := clk.Now()
	b := Beat{BootID: now.BootID, Boot: int64(now.Boot)}
	clk.Suspend(7 * time.Second)
	for _, step := range []time.Duration{24 * time.Hour, -48 * time.Hour, time.Hour} {
		clk.Step(step)
		if age := b.age(clk.Now()).Round(time.Second); age != 7*time.Second {
			t.Errorf("after a step of %s it is %s old", step, age)
		}
	}
}

// TestStartsAreCounted: by one byte in place.
func TestStartsAreCounted(t *testing.T) {
	f, _ := agreed(t)
	for want := 1; want <= 2; want++ {
		if n, err := f.countStart(); err != nil || n != want {
			t.Fatalf("start %d: %d, %v", want, n, err)
		}
	}
	if err := f.takeBack(); err != nil || f.starts() != 1 {
		t.Errorf("taken back: %d, %v", f.starts(), err)
	}
}

// TestTheStoreComesBackOnce: a repeat must not undo what was acknowledged after the first time.
func TestTheStoreComesBackOnce(t *testing.T) {
	f, h := agreed(t)
	write := func(text string) {
		if err := os.WriteFile(f.store(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(f.store()); err != nil || string(b) != want {
			t.Errorf("the store holds %q, %v; want %q", b, err, want)
		}
	}
	write("old")
	if err := f.KeepStore(h); err != nil {
		t.Fatal(err)
	}
	write("migrated")
	if err := f.KeepStore(h); err != nil { // a second start
		t.Fatal(err)
	}
	if err := f.storeBack(); err != nil {
		t.Fatal(err)
	}
	holds("old")
	write("later")
	if err := f.storeBack(); err != nil {
		t.Fatal(err)
	}
	holds("later")
	h.New.Schema = h.Old.Schema
	if err := f.KeepStore(h); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.join(fileSnap)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("kept without need: %v", err)
	}
}

// TestOnlyTheNewReleaseIsReplaced: what a person has installed since is theirs.
func TestOnlyTheNewReleaseIsReplaced(t *testing.T) {
	f, h := agreed(t)
	if err := os.Mkdir(filepath.Dir(h.Binary), 0o700); err != nil {
		t.Fatal(err)
	}
	install := func(text string) string {
		if err := os.WriteFile(h.Binary, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		sum, err := HashOf(h.Binary)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	h.New.SHA256 = install("new")
	install("a third one")
	if done, err := f.putBack(h); err != nil || !done {
		t.Fatalf("a third one: %v, %v", done, err)
	}
	if b, _ := os.ReadFile(h.Binary); string(b) != "a third one" {
		t.Errorf("replaced by %d bytes", len(b))
	}
	for _, there := range []string{"new", ""} {
		if install("new"); there == "" {
			os.Remove(h.Binary)
		}
		if done, err := f.putBack(h); err != nil || !done {
			t.Fatalf("%q: %v, %v", there, done, err)
		}
		if sum, err := HashOf(h.Binary); err != nil || sum != h.Old.SHA256 {
			t.Errorf("%q: not the old one (%v)", there, err)
		}
	}
}

// TestEndLeavesNothing: without its own file nothing is under way, and the next one begins with a clean folder.
func TestEndLeavesNothing(t *testing.T) {
	f, h := agreed(t)
	if _, under, err := f.Read(); err != nil || !under {
		t.Fatalf("under way: %v, %v", under, err)
	}
	if _, err := f.give(Verdict{OK: true}, byGuard); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.join(fileHandover)); err != nil { // a crash in the middle of End
		t.Fatal(err)
	}
	if err := f.Agree(h); err != nil {
		t.Fatal(err)
	}
	if v, given := f.Verdict(); given {
		t.Errorf("an old verdict counts: %+v", v)
	}
	if err := f.End(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(f.path); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}
