package archtest

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

var (
	// A path of this repository in a page's text, such as `daemon/routes.go`.
	pathInText = regexp.MustCompile("`((?:cmd|daemon|docs|internal|migrations|store|tools|wire)/[\\w./*-]*[\\w*])`")
	// A link to another file of this repository.
	linkInText = regexp.MustCompile(`\]\(([^):#]+)(?:#[^)]*)?\)`)
)

// checkPages looks for every file that the README and the pages in docs name.
func checkPages(t *Tree) []Breach {
	var out []Breach
	names, _ := fs.Glob(t.top, "docs/*.md") // the pattern is sound, so there is no error
	for _, page := range append(names, "README.md") {
		text, err := fs.ReadFile(t.top, page)
		if err != nil {
			continue // a missing README is checkTop's business
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, name := range named(page, line) {
				if found, err := fs.Glob(t.top, name); err == nil && len(found) > 0 {
					continue
				}
				out = append(out, Breach{
					Where: fmt.Sprintf("%s:%d", page, i+1), What: "names " + name + ", which does not exist",
					Why: "a page that sends its reader astray is worse than none: follow the code",
				})
			}
		}
	}
	return out
}

// named is every path that a line of a page names, from the top of the repository.
func named(page, line string) []string {
	var out []string
	for _, m := range pathInText.FindAllStringSubmatch(line, -1) {
		out = append(out, m[1])
	}
	for _, m := range linkInText.FindAllStringSubmatch(line, -1) {
		out = append(out, path.Join(path.Dir(page), m[1]))
	}
	return out
}
