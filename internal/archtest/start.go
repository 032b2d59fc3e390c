package archtest

import (
	"go/ast"
	"go/token"
	"strings"
)

// Rooms that are no part of the scv that people start.
var unstarted = []string{"internal/...", "migrations/..."}

// checkStart keeps regular expressions out of the start of a process: a value at the top of a file is made
// by every scv, whatever it was started for, and some of them cost a millisecond.
func checkStart(t *Tree) []Breach {
	var out []Breach
	for _, f := range t.Files {
		if f.Test || withinAny(unstarted, f.Room) {
			continue
		}
		for _, decl := range f.Src.Decls {
			if vars, ok := decl.(*ast.GenDecl); ok && vars.Tok == token.VAR {
				out = append(out, t.compiledIn(vars)...)
			}
		}
	}
	return out
}

// compiledIn finds the regular expressions that a declaration makes, outside of its functions.
func (t *Tree) compiledIn(vars *ast.GenDecl) []Breach {
	var out []Breach
	ast.Inspect(vars, func(n ast.Node) bool {
		if _, later := n.(*ast.FuncLit); later {
			return false
		}
		name, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := name.X.(*ast.Ident); ok && pkg.Name == "regexp" && strings.HasPrefix(name.Sel.Name, "MustCompile") {
			out = append(out, Breach{
				Where: t.at(n.Pos()), What: "a regular expression that every start compiles",
				Why: "scv is started often and must answer at once: compile it when it is needed (sync.OnceValue), or do without",
			})
		}
		return true
	})
	return out
}
