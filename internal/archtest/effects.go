package archtest

import (
	"go/ast"
	"slices"
)

// outside are the calls that change the world outside, or make a change durable. A crash beside one
// is where promises break, so each has a failpoint that a test can let fail.
var outside = map[string][]string{
	"os":      {"Rename", "Link", "RemoveAll", "StartProcess"},
	"syscall": {"Exec", "Kill"},
	"unix":    {"Exec", "Kill", "PidfdSendSignal", "Renameat", "Renameat2", "Mkdir", "Rmdir"},
	"tx":      {"Commit"}, // of bbolt, as are the next
	"db":      {"Update", "Batch"},
	"adapter": {"Send"}, // of a channel
}

// promisesNothing are rooms whose effects hurt nobody who dies beside them.
var promisesNothing = []string{
	"daemon/logfile", // a log that is put aside: the next line makes a new one, whoever writes it
}

// keepers are the rooms beside the daemon's own that make things durable.
var keepers = []string{"store", "migrations", "internal/durable"}

// checkEffects finds functions with an effect and without a failpoint.
func checkEffects(t *Tree) []Breach {
	var out []Breach
	for _, f := range t.Files {
		if f.Test || slices.Contains(promisesNothing, f.Room) || !within("daemon/...", f.Room) && !slices.Contains(keepers, f.Room) {
			continue
		}
		for _, d := range f.Src.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || calls(fn.Body, "failpoint", []string{"Hit"}) != nil {
				continue
			}
			for on, names := range outside {
				if call := calls(fn.Body, on, names); call != nil {
					out = append(out, Breach{
						Where: t.at(call.Pos()), What: fn.Name.Name + " has an effect and no failpoint",
						Why: "what happens if we die here must be tried: call failpoint.Hit with a point of internal/failpoint before it",
					})
				}
			}
		}
	}
	return out
}

// calls is the first call in body of one of on's functions or methods, nil for none.
func calls(body ast.Node, on string, names []string) (found *ast.CallExpr) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || found != nil {
			return found == nil
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(names, s.Sel.Name) {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == on {
				found = call
			}
		}
		return true
	})
	return found
}
