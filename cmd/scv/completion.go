package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (*completionCmd) Help() string {
	return "bash, in ~/.bashrc: source <(scv completion bash)\n\n" +
		"zsh, in ~/.zshrc after compinit: source <(scv completion zsh)\n\n" +
		"fish: scv completion fish > ~/.config/fish/completions/scv.fish"
}

func (*completionCmd) example() string { return "scv completion bash" }

// Run prints a script with every word that this scv knows; it runs nothing when a word is completed.
func (c *completionCmd) Run(a *app) error {
	var cmds commands
	parser, err := newParser(&cmds, a.stdout, a.stderr, new(helped))
	if err != nil {
		return fmt.Errorf("cannot build the command line: %w", err)
	}
	shells := map[string]func([]verbPage) string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}
	_, err = fmt.Fprint(a.stdout, shells[c.Shell](pages(parser.Model)))
	return err
}

// Flags that every command has.
const helpFlag, homeFlag = "--help", "--home"

// patterns are the alternatives of a case, quoted for a shell.
func patterns(words []string, separator string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = shellQuote(word)
	}
	return strings.Join(quoted, separator)
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// verbPaths are all commands, as paths.
func verbPaths(all []verbPage) []string {
	var paths []string
	for _, p := range all[1:] {
		paths = append(paths, p.path)
	}
	return paths
}

// filePaths are the commands that take a file.
func filePaths(all []verbPage) []string {
	var paths []string
	for _, p := range all {
		if p.takesFiles() {
			paths = append(paths, p.path)
		}
	}
	return paths
}

// valueFlags are the flags that take a value, each with the path of its command: " chat --send". With
// kind they are only those whose value is a path of that kind.
func valueFlags(all []verbPage, kind string) []string {
	var names []string
	for _, p := range all {
		for _, f := range p.flags {
			if f.IsBool() || kind != "" && place(f.Value) != kind {
				continue
			}
			for _, name := range flagNames(f) {
				names = append(names, p.path+" "+name)
			}
		}
	}
	return names
}

// flagNames is how a flag is typed, the long way first.
func flagNames(f *kong.Flag) []string {
	names := []string{"--" + f.Name}
	if f.Short != 0 {
		names = append(names, "-"+string(f.Short))
	}
	return names
}

// offered is a word that may come next, and what it is for.
type offered struct{ word, help string }

func (p verbPage) offeredVerbs() []offered {
	var out []offered
	for _, n := range p.verbs {
		out = append(out, offered{n.Name, n.Help})
	}
	for _, v := range p.values {
		for _, word := range choices(v) {
			out = append(out, offered{word, v.Help})
		}
	}
	return out
}

func (p verbPage) offeredFlags() []offered {
	var out []offered
	for _, f := range p.flags {
		out = append(out, offered{"--" + f.Name, f.Help})
	}
	return append(out, offered{homeFlag, "Folder of this SCV."}, offered{helpFlag, "Show the help of this command."})
}

func words(all []offered) string {
	var out []string
	for _, o := range all {
		out = append(out, o.word)
	}
	return strings.Join(out, " ")
}
