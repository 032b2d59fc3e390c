package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Tree is the source of one module, every file for every platform.
type Tree struct {
	Module string   // such as "scv"
	Top    []string // names at the top of the repository
	Files  []*File  // in order of their paths
	top    fs.FS
	fset   *token.FileSet
}

// File is one parsed Go file.
type File struct {
	Path  string // from the top of the repository, with slashes
	Room  string // the folder it stands in
	Test  bool   // a _test.go file
	Lines int
	Src   *ast.File
}

// Load parses every Go file under the top of a repository. It leaves out what the go command
// leaves out (testdata, folders that begin with a dot or an underscore) and built binaries.
func Load(top fs.FS, module string) (*Tree, error) {
	t := &Tree{Module: module, top: top, fset: token.NewFileSet()}
	entries, err := fs.ReadDir(top, ".")
	if err != nil {
		return nil, fmt.Errorf("cannot read the repository: %w", err)
	}
	for _, e := range entries {
		t.Top = append(t.Top, e.Name())
	}
	err = fs.WalkDir(top, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && strings.ContainsAny(d.Name()[:1], "._") || d.Name() == "testdata" || name == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		return t.add(top, name)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the repository: %w", err)
	}
	return t, nil
}

func (t *Tree) add(top fs.FS, name string) error {
	text, err := fs.ReadFile(top, name)
	if err != nil {
		return err
	}
	src, err := parser.ParseFile(t.fset, name, text, parser.ParseComments)
	if err != nil {
		return err
	}
	t.Files = append(t.Files, &File{
		Path:  name,
		Room:  path.Dir(name),
		Test:  strings.HasSuffix(name, "_test.go"),
		Lines: bytes.Count(text, []byte("\n")),
		Src:   src,
	})
	return nil
}

// at names a place in a file.
func (t *Tree) at(pos token.Pos) string {
	p := t.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// lines is how many lines a node takes.
func (t *Tree) lines(n ast.Node) int {
	return t.fset.Position(n.End()).Line - t.fset.Position(n.Pos()).Line + 1
}

// imported is the path of an import.
func imported(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(err) // the parser took it
	}
	return p
}

// within reports whether a room or an import path falls under a pattern: "a/b" is that one alone,
// "a/b/..." is also everything below it.
func within(pattern, name string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == base || strings.HasPrefix(name, base+"/")
	}
	return name == pattern
}

func withinAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if within(p, name) {
			return true
		}
	}
	return false
}
