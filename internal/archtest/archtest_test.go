package archtest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestHouse holds the repository to its rules.
func TestHouse(t *testing.T) {
	tree, err := Load(os.DirFS("../.."), "scv")
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Files) == 0 {
		t.Fatal("found no Go file: the rules were held to nothing")
	}
	for _, b := range tree.Check() {
		t.Error(b)
	}
}

// TestFences gives each rule a small tree that breaks it. An archive's file "want" lists every
// breach that must be found, as "path:line rule"; a clean neighbour in the same tree must not be.
func TestFences(t *testing.T) {
	fired := map[string]bool{}
	for _, name := range archives(t) {
		t.Run(strings.TrimSuffix(name, ".txtar"), func(t *testing.T) {
			files, want := unpack(t, "testdata/"+name)
			tree, err := Load(files, "scv")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range tree.Check() {
				got = append(got, b.Where+" "+b.Rule)
				fired[b.Rule] = true
				if b.Why == "" || b.What == "" {
					t.Errorf("%s: a breach must say what and why: %+v", b.Where, b)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("breaches (-want +got):\n%s", diff)
			}
		})
	}
	for _, r := range rules {
		if !fired[r.Name] {
			t.Errorf("no archive in testdata breaks the rule %q: a fence that cannot fail is no fence", r.Name)
		}
	}
}

// TestEveryDoorIsShut goes through each door from a room that may not.
func TestEveryDoorIsShut(t *testing.T) {
	for _, d := range doors {
		room := "daemon/restart"
		if d.Closed != nil {
			room = strings.TrimSuffix(d.Closed[0], "/...")
		}
		names := d.Names
		if names == nil {
			names = []string{""}
		}
		for _, name := range names {
			path := strings.TrimSuffix(d.Import, "/...")
			use := "_"
			if name != "" {
				use = "door"
			}
			src := fmt.Sprintf("package p\n\nimport %s %q\n", use, path)
			if name != "" {
				src += fmt.Sprintf("\nvar _ = door.%s\n", name)
			}
			tree, err := Load(fstest.MapFS{room + "/p.go": {Data: []byte(src)}}, "scv")
			if err != nil {
				t.Fatal(err)
			}
			if len(checkDoors(tree)) == 0 {
				t.Errorf("%s may use %s %s: the door does not shut", room, path, name)
			}
		}
	}
}

// TestRowsAreUsed finds rows of the tables that no longer stand for anything.
func TestRowsAreUsed(t *testing.T) {
	tree, err := Load(os.DirFS("../.."), "scv")
	if err != nil {
		t.Fatal(err)
	}
	stands := func(match func(*File) bool) bool { return slices.ContainsFunc(tree.Files, match) }
	for _, r := range rooms {
		if !stands(func(f *File) bool { return within(r.Path, f.Room) }) {
			t.Errorf("rooms.go has a row for %s, which does not exist", r.Path)
		}
	}
	for name := range handFiles {
		if !stands(func(f *File) bool { return f.Path == "cmd/scv/"+name }) {
			t.Errorf("rooms.go has a row for cmd/scv/%s, which does not exist", name)
		}
	}
	for _, d := range doors {
		for _, room := range d.Open {
			if _, ok := findRoom(room); !ok {
				t.Errorf("doors.go opens %s to %s, which has no row in rooms.go", d.Import, room)
			}
		}
	}
}

func archives(t *testing.T) []string {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".txtar") {
			names = append(names, e.Name())
		}
	}
	return names
}

// unpack makes a tree of an archive: a whole top level, so that only what the archive adds is wrong.
func unpack(t *testing.T, name string) (fstest.MapFS, []string) {
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, top := range topLevel {
		files[top+"/.keep"] = &fstest.MapFile{}
	}
	var want []string
	for _, f := range archive.Files {
		switch f.Name {
		case "want":
			want = strings.FieldsFunc(string(f.Data), func(r rune) bool { return r == '\n' })
		default:
			files[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	slices.Sort(want)
	return files, want
}
