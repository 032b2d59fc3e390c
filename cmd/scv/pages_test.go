package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// The man page and docs/cli.md are made from the command line itself; `go generate ./cmd/scv` makes them
// anew. What stands in them apart from that is below: what holds for all commands.
//
//go:generate go test -count=1 -run ^TestPages$ . -update

const (
	pageIntro = "SCV is a small daemon between your chats and your coding agents. `scv run` starts it; every other " +
		"command asks it something, or looks into its home where that needs no daemon."
	pageExits = "0 done. 1 refused, failed or interrupted. 2 wrong command line. 3 no daemon runs. 4 the store is damaged. " +
		"Only `scv confirm` differs: 0 is the owner's yes and nothing else, 1 a no or silence, 2 anything else."
)

var pageEnvironment = [][2]string{
	{"SCV_HOME", "The home, where --home is not given. Without either it is ~/.scv."},
	{"NO_COLOR", "Not empty: no colour. TERM=dumb does the same."},
	{"SCV_PARENT", "Set for agents by the daemon: which run this is. A new daemon inside of one is refused."},
	{"SCV_OUTBOX", "Set for agents by the daemon where files can go with an answer: what is put into this folder goes to the chat."},
}

var pageFiles = [][2]string{
	{"~/.scv/config.toml", "Yours; never written by SCV. A daemon rereads it at its start and by scv reload."},
	{"~/.scv/scv.db", "What the daemon must not forget. See scv store."},
	{"~/.scv/log/scv.log", "The daemon's log, 8 MiB at most, and one older file. See scv logs."},
	{"~/.scv/scv.sock", "Where the daemon listens, for you alone."},
}

func TestPages(t *testing.T) {
	var cmds commands
	parser, err := newParser(&cmds, io.Discard, io.Discard, new(helped))
	if err != nil {
		t.Fatal(err)
	}
	all := pages(parser.Model)
	for name, want := range map[string]string{"cli.md": markdown(all), "scv.1": manual(all)} {
		path := filepath.Join("..", "..", "docs", name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("docs/%s is not what the command line is; run: go generate ./cmd/scv (-want +got)\n%s", name, diff)
		}
	}
}

// TestEveryCommandIsExplained: a page of bare names helps nobody.
func TestEveryCommandIsExplained(t *testing.T) {
	var cmds commands
	parser, err := newParser(&cmds, io.Discard, io.Discard, new(helped))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages(parser.Model) {
		if p.path != "" && p.node.Help == "" {
			t.Errorf("scv%s has no help", p.path)
		}
		for _, f := range p.flags {
			if f.Help == "" {
				t.Errorf("scv%s --%s has no help", p.path, f.Name)
			}
		}
		for _, v := range p.values {
			if v.Help == "" {
				t.Errorf("scv%s %s has no help", p.path, v.Name)
			}
		}
	}
}

// synopsis is how a command is typed.
func synopsis(p verbPage) string {
	words := []string{"scv" + p.path}
	if len(p.flags) > 0 {
		words = append(words, "[flags]")
	}
	for _, v := range p.values {
		words = append(words, v.Summary())
	}
	if len(p.verbs) > 0 && p.node.DefaultCmd != nil {
		words = append(words, "[COMMAND]")
	} else if len(p.verbs) > 0 {
		words = append(words, "COMMAND")
	}
	return strings.Join(words, " ")
}

func typedFlag(f *kong.Flag) string {
	typed := "--" + f.Name
	if !f.IsBool() {
		typed += " " + f.FormatPlaceHolder()
	}
	if f.Short != 0 {
		typed = fmt.Sprintf("-%c, %s", f.Short, typed)
	}
	return typed
}

func markdown(all []verbPage) string {
	var b strings.Builder
	b.WriteString("# The command line\n\n<!-- Made from the command line itself: go generate ./cmd/scv. Do not edit. -->\n\n")
	fmt.Fprintf(&b, "%s `--help` on any of them shows what is here too, `man docs/scv.1` all of it.\n\n", pageIntro)
	b.WriteString("`--home DIR` goes with every command.\n\n| command | does |\n|---|---|\n")
	for _, n := range all[0].verbs {
		fmt.Fprintf(&b, "| [`scv %s`](#scv-%s) | %s |\n", n.Name, n.Name, prose(n.Help))
	}
	fmt.Fprintf(&b, "\n**Exit codes**: %s\n", pageExits)
	for _, p := range all[1:] {
		fmt.Fprintf(&b, "\n## scv%s\n\n%s\n\n```\n%s\n```\n", p.path, p.node.Help, synopsis(p))
		if p.node.Detail != "" {
			fmt.Fprintf(&b, "\n%s\n", prose(p.node.Detail))
		}
		if len(p.flags)+len(p.values)+len(p.verbs) == 0 {
			continue
		}
		b.WriteString("\n| | |\n|---|---|\n")
		for _, n := range p.verbs {
			fmt.Fprintf(&b, "| [`%s`](#scv%s-%s) | %s |\n", n.Name, strings.ReplaceAll(p.path, " ", "-"), n.Name, prose(n.Help))
		}
		for _, v := range p.values {
			fmt.Fprintf(&b, "| `%s` | %s |\n", v.Summary(), prose(v.Help))
		}
		for _, f := range p.flags {
			fmt.Fprintf(&b, "| `%s` | %s |\n", cellText(typedFlag(f)), prose(f.Help))
		}
	}
	b.WriteString("\n## Environment\n\n| | |\n|---|---|\n")
	for _, row := range pageEnvironment {
		fmt.Fprintf(&b, "| `%s` | %s |\n", row[0], row[1])
	}
	b.WriteString("\n## Files\n\n| | |\n|---|---|\n")
	for _, row := range pageFiles {
		fmt.Fprintf(&b, "| `%s` | %s |\n", row[0], row[1])
	}
	return b.String()
}

// cellText is code inside a table's cell.
func cellText(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// prose is text for Markdown, which would take <account> for a tag of HTML and show nothing.
func prose(s string) string { return strings.ReplaceAll(cellText(s), "<", `\<`) }

func manual(all []verbPage) string {
	var b strings.Builder
	b.WriteString(".\\\" Made from the command line itself: go generate ./cmd/scv. Do not edit.\n.TH SCV 1\n.SH NAME\nscv \\- keeps chat accounts running and hands messages to coding agents\n")
	b.WriteString(".SH SYNOPSIS\n.B scv\n[\\fB\\-\\-home\\fR \\fIDIR\\fR] \\fICOMMAND\\fR\n")
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n.SH COMMANDS\n", roff(pageIntro))
	for _, p := range all[1:] {
		fmt.Fprintf(&b, ".SS %s\n%s\n", roff(synopsis(p)), roff(p.node.Help))
		for _, paragraph := range strings.Split(p.node.Detail, "\n\n") {
			if paragraph != "" {
				fmt.Fprintf(&b, ".PP\n%s\n", roff(paragraph))
			}
		}
		for _, v := range p.values {
			fmt.Fprintf(&b, ".TP\n.I %s\n%s\n", roff(v.Summary()), roff(v.Help))
		}
		for _, f := range p.flags {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(typedFlag(f)), roff(f.Help))
		}
	}
	fmt.Fprintf(&b, ".SH EXIT STATUS\n%s\n", roff(pageExits))
	fmt.Fprintf(&b, ".SH ENVIRONMENT\n%s.SH FILES\n%s", roffRows(pageEnvironment), roffRows(pageFiles))
	return b.String()
}

func roffRows(rows [][2]string) string {
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(row[0]), roff(row[1]))
	}
	return b.String()
}

// roff is text on one line of a man page: no character of it is a command.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", "", "~", `\(ti`, "'", `\(aq`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
