package archtest

import (
	"go/ast"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	faultRow  = regexp.MustCompile(`(?m)^\| ([A-G])(\d+) \| [^|]+ \| ([^|]+) \|$`)
	testNamed = regexp.MustCompile("`(Test\\w+)(?:/(\\w+))?`")
)

// TestFaultsNamesRealTests holds docs/faults.md to the code: every fault has its row, and every test that
// a row names exists.
func TestFaultsNamesRealTests(t *testing.T) {
	top := os.DirFS("../..")
	page, err := fs.ReadFile(top, "docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t, top)
	rows := map[string]int{}
	for _, row := range faultRow.FindAllStringSubmatch(string(page), -1) {
		rows[row[1]]++
		named := testNamed.FindAllStringSubmatch(row[3], -1)
		if len(named) == 0 && len(strings.Fields(row[3])) < 5 {
			t.Errorf("%s%s names no test and gives no reason", row[1], row[2])
		}
		for _, name := range named {
			if !tests[name[1]] {
				t.Errorf("%s%s names %s, which does not exist", row[1], row[2], name[1])
			}
			if name[2] == "" {
				continue
			}
			if _, err := fs.Stat(top, "cmd/scv/testdata/script/"+name[2]+".txtar"); err != nil {
				t.Errorf("%s%s names a script %s, which does not exist", row[1], row[2], name[2])
			}
		}
	}
	for part, want := range map[string]int{"A": 22, "B": 21, "C": 19, "D": 18, "E": 11, "F": 10, "G": 3} {
		if rows[part] != want {
			t.Errorf("there are %d rows of %s, want %d", rows[part], part, want)
		}
	}
}

// testNames are the test functions of the repository.
func testNames(t *testing.T, top fs.FS) map[string]bool {
	tree, err := Load(top, "scv")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range tree.Files {
		for _, d := range f.Src.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.Test && fn.Recv == nil {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}
