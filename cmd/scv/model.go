package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// verbPage is one command with all that can be typed after it. Completion, man page and docs/cli.md
// are made from these.
type verbPage struct {
	path   string // the words after scv, each with a blank before it: " channels set"; "" is scv itself
	node   *kong.Node
	verbs  []*kong.Node
	flags  []*kong.Flag // without those that every command has
	values []*kong.Positional
}

// pages is scv and every command of it that is not hidden, each before what is below it.
func pages(model *kong.Application) []verbPage { return pagesBelow(model.Node, "") }

func pagesBelow(n *kong.Node, path string) []verbPage {
	p := verbPage{path: path, node: n, values: n.Positional}
	if n.Type != kong.ApplicationNode {
		p.flags = visible(n.Flags)
	}
	if n.DefaultCmd != nil { // the command that is meant where none is named
		p.flags = append(p.flags, visible(n.DefaultCmd.Flags)...)
	}
	var below []verbPage
	for _, child := range n.Children {
		if !child.Hidden {
			p.verbs = append(p.verbs, child)
			below = append(below, pagesBelow(child, path+" "+child.Name)...)
		}
	}
	return append([]verbPage{p}, below...)
}

func visible(flags []*kong.Flag) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f *kong.Flag) bool { return f.Hidden })
}

// choices are the few words that a flag or an argument may be, nil if it may be anything.
func choices(v *kong.Value) []string {
	switch {
	case v.Enum != "":
		return v.EnumSlice()
	case v.Flag != nil && strings.Contains(v.Flag.PlaceHolder, "|"):
		return strings.Split(v.Flag.PlaceHolder, "|")
	}
	return nil
}

// place is what kind of path a flag or an argument is: "DIR", "FILE" or "".
func place(v *kong.Value) string {
	switch {
	case v.Flag != nil && (v.Flag.PlaceHolder == "DIR" || v.Flag.PlaceHolder == "FILE"):
		return v.Flag.PlaceHolder
	case v.Flag == nil && (v.Name == "file" || v.Name == "path"):
		return "FILE"
	}
	return ""
}

// takesFiles reports whether a file may come next.
func (p verbPage) takesFiles() bool {
	return slices.ContainsFunc(p.values, func(v *kong.Positional) bool { return place(v) == "FILE" })
}
