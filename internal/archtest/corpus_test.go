package archtest

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// TestFuzzTestsKeepTheirCorpora: what a fuzzer has found worth keeping stands beside each fuzz test, so that every
// run of the tests tries it.
func TestFuzzTestsKeepTheirCorpora(t *testing.T) {
	top := os.DirFS("../..")
	tree, err := Load(top, "scv")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range tree.Files {
		for _, d := range f.Src.Decls {
			fn, is := d.(*ast.FuncDecl)
			if !is || !f.Test || !strings.HasPrefix(fn.Name.Name, "Fuzz") {
				continue
			}
			found++
			inputs, err := fs.Glob(top, path.Join(f.Room, "testdata/fuzz", fn.Name.Name, "*"))
			if err != nil || len(inputs) == 0 {
				t.Errorf("%s of %s has %d inputs, %v", fn.Name.Name, f.Room, len(inputs), err)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d fuzz tests were found", found)
	}
}
