package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Limits, in lines.
const (
	maxFile     = 400
	maxFunction = 60
	aroundTable = 30 // of a longer function that is one table or one switch: all but the table
)

// topLevel is the whole top of the repository.
var topLevel = []string{
	"cmd", "store", "daemon", "wire", "migrations", "go.mod", "go.sum", "Makefile",
	"README.md", "LICENSE", "CHANGELOG.md", "docs", "internal", "tools", ".ci", ".gitignore",
}

// Names that may stand at the top of a checkout and are no part of the repository.
var checkoutOnly = []string{".git", "bin"}

var emptyNames = []string{"util", "utils", "common", "types", "helper", "helpers"}

func checkTop(t *Tree) []Breach {
	var out []Breach
	for _, name := range t.Top {
		if !slices.Contains(topLevel, name) && !slices.Contains(checkoutOnly, name) {
			out = append(out, Breach{
				Where: name, What: "does not belong at the top of the repository",
				Why: "the top is the map of the house: code goes to cmd, store, daemon, wire, migrations or internal, pages to docs",
			})
		}
	}
	for _, name := range topLevel {
		if !slices.Contains(t.Top, name) {
			out = append(out, Breach{Where: name, What: "is missing", Why: "the top is the map of the house"})
		}
	}
	return out
}

func checkNames(t *Tree) []Breach {
	var out []Breach
	for _, f := range t.Files {
		name := strings.TrimSuffix(f.Src.Name.Name, "_test")
		if slices.Contains(emptyNames, name) || slices.Contains(emptyNames, path.Base(f.Room)) {
			out = append(out, Breach{
				Where: t.at(f.Src.Name.Pos()), What: "package " + name,
				Why: "the name says nothing, so anything ends up in it: name the room for what it does",
			})
		} else if name != "main" && name != path.Base(f.Room) {
			out = append(out, Breach{
				Where: t.at(f.Src.Name.Pos()), What: fmt.Sprintf("package %s in folder %s", name, path.Base(f.Room)),
				Why: "a package is found by its folder",
			})
		}
	}
	return out
}

func checkDocs(t *Tree) []Breach {
	first := map[string]*File{} // the first file of each package without a doc, nil once it has one
	for _, f := range t.Files {
		if f.Test {
			continue
		}
		if documented(f) {
			first[f.Room] = nil
		} else if _, seen := first[f.Room]; !seen {
			first[f.Room] = f
		}
	}
	var out []Breach
	for room, f := range first {
		if f != nil {
			out = append(out, Breach{
				Where: f.Path, What: fmt.Sprintf("package %s has no package doc", room),
				Why: "the doc says what the room is for and who may come in",
			})
		}
	}
	return out
}

func documented(f *File) bool {
	want := "Package " + f.Src.Name.Name + " "
	if f.Src.Name.Name == "main" {
		want = "Command " + path.Base(f.Room) + " "
	}
	return strings.HasPrefix(strings.Join(strings.Fields(f.Src.Doc.Text()), " "), want)
}

func checkFileSizes(t *Tree) []Breach {
	var out []Breach
	for _, f := range t.Files {
		if f.Lines > maxFile {
			out = append(out, Breach{
				Where: f.Path, What: fmt.Sprintf("%d lines, more than %d", f.Lines, maxFile),
				Why: "a file is read in one sitting: split it by what it is about",
			})
		}
	}
	return out
}

func checkFunctionSizes(t *Tree) []Breach {
	var out []Breach
	for _, f := range t.Files {
		for _, decl := range f.Src.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || t.lines(fn) <= maxFunction || t.lines(fn)-t.largestTable(fn) <= aroundTable {
				continue
			}
			out = append(out, Breach{
				Where: t.at(fn.Pos()),
				What:  fmt.Sprintf("function %s has %d lines, more than %d", fn.Name.Name, t.lines(fn), maxFunction),
				Why:   "a function is understood at a glance: split it, unless it is one table or one switch",
			})
		}
	}
	return out
}

// largestTable is the length of the longest composite literal or switch in a function.
func (t *Tree) largestTable(fn *ast.FuncDecl) int {
	largest := 0
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			// A literal that holds a function is code, not a table.
			if !holdsFunction(n) {
				largest = max(largest, t.lines(n))
			}
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			largest = max(largest, t.lines(n))
		}
		return true
	})
	return largest
}

// holdsFunction reports whether a literal holds a function of more than a few statements.
func holdsFunction(lit *ast.CompositeLit) bool {
	const few = 5
	found := false
	ast.Inspect(lit, func(n ast.Node) bool {
		if fn, ok := n.(*ast.FuncLit); ok && len(fn.Body.List) > few {
			found = true
		}
		return !found
	})
	return found
}

// Marks of work that was put off. Split, so that this line is none.
var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)

func checkUnfinished(t *Tree) []Breach {
	var out []Breach
	for _, f := range t.Files {
		for _, group := range f.Src.Comments {
			for _, c := range group.List {
				if mark := unfinished.FindStringIndex(c.Text); mark != nil {
					out = append(out, Breach{
						Where: t.at(c.Pos() + token.Pos(mark[0])), What: "a comment that puts work off",
						Why: "finish it, or say what is and why it is so",
					})
				}
			}
		}
	}
	return out
}
