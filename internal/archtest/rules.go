package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is one fence.
type Rule struct {
	Name  string
	Check func(*Tree) []Breach
}

// Breach is one place where a rule is broken.
type Breach struct {
	Rule  string
	Where string // path:line, or a path
	What  string // what stands there
	Why   string // why the fence is there, and what to do
}

func (b Breach) String() string {
	return fmt.Sprintf("%s: %s [%s]\n\twhy: %s", b.Where, b.What, b.Rule, b.Why)
}

// rules is every fence of the house.
var rules = []Rule{
	{"room", checkRooms},
	{"door", checkDoors},
	{"library", checkLibraries},
	{"dot-import", checkDotImports},
	{"package-name", checkNames},
	{"package-doc", checkDocs},
	{"file-size", checkFileSizes},
	{"function-size", checkFunctionSizes},
	{"unfinished", checkUnfinished},
	{"top-level", checkTop},
	{"page", checkPages},
	{"effect", checkEffects},
	{"start", checkStart},
}

// Check runs every rule and returns the breaches in order of rule and place.
func (t *Tree) Check() []Breach {
	var all []Breach
	for _, r := range rules {
		found := r.Check(t)
		for i := range found {
			found[i].Rule = r.Name
		}
		slices.SortStableFunc(found, func(a, b Breach) int { return strings.Compare(a.Where, b.Where) })
		all = append(all, found...)
	}
	return all
}
