package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long anything may look at a damaged store.
const patience = 5 * time.Second

// damage changes a copy of a store and says which of its pages are no longer as they were.
type damage struct {
	name string
	do   func(random *rand.Rand, raw []byte, page int) (damaged []byte, touched []int)
}

var damages = []damage{
	{"flips", func(random *rand.Rand, raw []byte, page int) (_ []byte, touched []int) {
		for range 1 + random.IntN(8) {
			at := random.IntN(len(raw))
			raw[at] ^= byte(1 + random.IntN(255))
			touched = append(touched, at/page)
		}
		return raw, touched
	}},
	{"zeros", func(random *rand.Rand, raw []byte, page int) (_ []byte, touched []int) {
		for range 1 + random.IntN(3) {
			n := random.IntN(len(raw) / page)
			clear(raw[n*page : (n+1)*page])
			touched = append(touched, n)
		}
		return raw, touched
	}},
	{"cut", func(random *rand.Rand, raw []byte, page int) (_ []byte, touched []int) {
		end := random.IntN(len(raw))
		for n := end / page; n < len(raw)/page; n++ {
			touched = append(touched, n)
		}
		return raw[:end], touched
	}},
	// A word at the place of a page's number, count, or pointer that leads far away or back.
	{"wild", func(random *rand.Rand, raw []byte, page int) (_ []byte, touched []int) {
		n := random.IntN(len(raw) / page)
		at := n*page + 8*random.IntN(8)
		word := []uint64{random.Uint64(), uint64(n), uint64(random.IntN(len(raw) / page)), 1 << 40, ^uint64(0)}[random.IntN(5)]
		binary.NativeEndian.PutUint64(raw[at:], word)
		return raw, []int{n}
	}},
}

// damagedStores is how many copies are tried.
func damagedStores(t *testing.T) int {
	text := os.Getenv("SCV_DAMAGED_STORES")
	switch {
	case text == "" && os.Getenv("SCV_LONG") != "":
		return 5000
	case text == "":
		return 100
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// A store with leaves, branches and long values, as the bytes of a snapshot.
func largeStore(t *testing.T) []byte {
	s := quickStore(t)
	fillStore(t, s)
	must(t, s.Deliver(ctx, func(d *Delivery) error {
		for i := range 400 {
			if err := d.PutConversation(local, fmt.Sprint(i), Conversation{Agent: "a", LastUse: s.clock.Now()}); err != nil {
				return err
			}
			if err := d.MarkSeen(local, fmt.Sprint(i)); err != nil {
				return err
			}
			text := strings.Repeat("x", 20*(i%50))
			if i%40 == 0 {
				text = strings.Repeat("long", 5000) // a page with a body of several
			}
			if _, err := d.AddOutbound(local, Outbound{Kind: "notice", Text: text, ClientID: fmt.Sprint(i)}); err != nil {
				return err
			}
		}
		return nil
	}))
	path := filepath.Join(t.TempDir(), "whole.db")
	must(t, s.Snapshot(ctx, path))
	raw, err := os.ReadFile(path)
	must(t, err)
	return raw
}

// rowsByPage says on which pages each record lies: its leaf with the leaf's body.
func rowsByPage(t *testing.T, path string) map[rowName][]int {
	file, err := os.Open(path)
	must(t, err)
	defer func() { _ = file.Close() }()
	meta, ok := newestMeta(file)
	if !ok {
		t.Fatal("no meta page")
	}
	p, err := newPages(file, meta.pageSize)
	must(t, err)
	where := map[rowName][]int{}
	for id := uint64(2); id < p.count; id++ {
		page, err := p.read(id)
		if err != nil || !isLeaf(page) {
			continue
		}
		var pages []int
		for n := range len(page) / int(p.size) {
			pages = append(pages, int(id)+n)
		}
		var found []element
		must(t, p.leaf(id, page, func(e element) error { found = append(found, e); return nil }))
		if table := tableOf(found); table != nil {
			for _, e := range found {
				where[rowName{table.Name, table.form.text(e.key)}] = pages
			}
		}
	}
	return where
}

// What is said of a damaged store says so once, whoever said it first.
func TestDamageIsSaidOnce(t *testing.T) {
	for _, said := range []string{"it leads in circles", "the store is damaged: page structure", `cannot open the store "x": the store is damaged: it was cut off`} {
		err := Report{Damage: said}.Err()
		if !errors.Is(err, ErrDamaged) || strings.Count(err.Error(), ErrDamaged.Error()) != 1 {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// TestDamagedStores (R11): whatever was done to a file, a dump neither dies nor hangs nor leaves out what
// lies on a page that was not touched; a look at it in another process comes to an end; and what passes
// that look can be opened and used.
func TestDamagedStores(t *testing.T) {
	seed := uint64(time.Now().UnixNano() % 1e9)
	if text := os.Getenv("SCV_DAMAGE_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	t.Logf("seed %d (SCV_DAMAGE_SEED=%d repeats it)", seed, seed)
	whole := largeStore(t)
	dir := t.TempDir()
	original := filepath.Join(t.TempDir(), "whole.db")
	must(t, os.WriteFile(original, whole, 0o600))
	where := rowsByPage(t, original)
	if len(where) < 1000 {
		t.Fatalf("only %d records are known to lie on pages", len(where))
	}
	missed := 0
	for n := range damagedStores(t) {
		kind := damages[n%len(damages)]
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		raw, touched := kind.do(random, slices.Clone(whole), os.Getpagesize())
		path := filepath.Join(dir, fmt.Sprintf("%05d-%s.db", n, kind.name))
		must(t, os.WriteFile(path, raw, 0o600))
		missed += checkSalvage(t, path, where, touched)
	}
	if missed == 0 {
		t.Error("nothing was lost in any copy: the damage is none")
	}
	lookThroughAll(t, dir)
}

// A pointer that leads into another bucket does not take the records there from it, whichever is read first.
func TestPageReachedTwice(t *testing.T) {
	whole, size := largeStore(t), os.Getpagesize()
	dir := t.TempDir()
	original := filepath.Join(dir, "whole.db")
	must(t, os.WriteFile(original, whole, 0o600))
	where := rowsByPage(t, original)
	leaves := map[int]bool{}
	for _, pages := range where {
		leaves[pages[0]] = true
	}
	tried := 0
	for branch := 2; branch < len(whole)/size; branch++ {
		page := whole[branch*size:][:size]
		first := int(binary.NativeEndian.Uint64(page[pageHead+8:]))
		if binary.NativeEndian.Uint16(page[8:]) != branchPage || !leaves[first] {
			continue
		}
		for leaf := range leaves {
			if leaf == first || (leaf+branch)%29 != 0 { // a part is enough
				continue
			}
			raw := slices.Clone(whole)
			binary.NativeEndian.PutUint64(raw[branch*size+pageHead+8:], uint64(leaf))
			path := filepath.Join(dir, fmt.Sprintf("%d-to-%d.db", branch, leaf))
			must(t, os.WriteFile(path, raw, 0o600))
			checkSalvage(t, path, where, []int{branch})
			must(t, os.Remove(path))
			tried++
		}
	}
	if tried == 0 {
		t.Error("no pointer could be led astray")
	}
}

// checkSalvage dumps one damaged file and counts what was lost with the pages that were touched.
func checkSalvage(t *testing.T, path string, where map[rowName][]int, touched []int) (missed int) {
	t.Helper()
	shown := map[rowName]bool{}
	begin := time.Now()
	err := DumpFile(ctx, path, DumpOptions{}, func(r Row) error {
		shown[rowName{r.Bucket, r.Key}] = true
		return nil
	})
	if took := time.Since(begin); took > patience {
		t.Errorf("%s: the dump took %s", path, took)
	}
	if err != nil && !errors.Is(err, ErrDamaged) {
		t.Errorf("%s: %v", path, err)
	}
	for name, pages := range where {
		if shown[name] {
			continue
		}
		missed++
		if !slices.ContainsFunc(pages, func(n int) bool { return slices.Contains(touched, n) }) {
			t.Errorf("%s: %s %s on page %v is not shown, and pages %v were touched: %v", path, name.bucket, name.key, pages, touched, err)
		}
	}
	return missed
}

// lookThroughAll examines every file of a folder in children, and opens and uses those that pass.
func lookThroughAll(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	total, sound, deaths := len(entries), 0, 0
	for len(entries) > 0 {
		answers := examineSome(t, dir, entries[0].Name())
		for _, answer := range answers {
			if name, verdict, _ := strings.Cut(answer, " "); verdict == "damaged" {
				must(t, os.Remove(filepath.Join(dir, name)))
			} else {
				sound++
			}
		}
		if entries = entries[len(answers):]; len(entries) > 0 { // it died of the next one
			deaths++
			must(t, os.Remove(filepath.Join(dir, entries[0].Name())))
			entries = entries[1:]
		}
	}
	begin := time.Now()
	out, err := child(t, "look", dir).Output()
	if lines := strings.Count(string(out), "\n"); err != nil || lines != sound {
		t.Errorf("%d files passed the look, and their use ended at the one after %d: %v", sound, lines, err)
	}
	if took := time.Since(begin); took > time.Duration(sound+1)*patience {
		t.Errorf("their use took %s", took)
	}
	if sound == 0 || sound == total {
		t.Errorf("%d of %d passed: the test shows nothing", sound, total)
	}
	t.Logf("%d damaged stores: %d passed the look and could be used, %d ended the process that looked", total, sound, deaths)
}

// examineSome examines the files of a folder from one on until the child ends.
func examineSome(t *testing.T, dir, first string) (answers []string) {
	cmd := child(t, "examine", dir, "SCV_STORE_TEST_FIRST="+first)
	cmd.Stderr = nil // a death is expected, and its trace long
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		answers = append(answers, lines.Text())
	}
	_ = cmd.Wait()
	return answers
}

// childExamine examines stores one after the other, and ends when one takes too long.
func childExamine(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() < os.Getenv("SCV_STORE_TEST_FIRST") {
			continue
		}
		watchdog := time.AfterFunc(patience, func() { os.Exit(3) })
		report, err := Examine(context.Background(), filepath.Join(dir, e.Name()), false)
		watchdog.Stop()
		if err != nil || report.Damage != "" {
			fmt.Println(e.Name(), "damaged")
		} else {
			fmt.Println(e.Name(), "sound")
		}
	}
	return nil
}
