package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each shell that is here is asked what may come next. The last word is the one being completed.
var completions = []struct {
	line      string
	want, not []string
}{
	{"scv ", []string{"run", "status", "confirm", "questions", "channels", "store", "completion"}, []string{"build-info", "--home"}},
	{"scv st", []string{"status", "store"}, []string{"run"}},
	{"scv channels ", []string{"list", "set", "enable", "disable", "logout"}, []string{"status"}},
	{"scv channels set --", []string{"--agent", "--workspace", "--senders", "--home", "--help"}, []string{"--follow", "set"}},
	{"scv channels set --senders ", []string{"owner", "anyone"}, []string{"none", "list"}},
	{"scv channels set --senders a", []string{"anyone"}, []string{"owner"}},
	{"scv channels set --senders=a", []string{"anyone"}, []string{"owner"}},
	{"scv --home channels status --", []string{"--watch"}, []string{"--agent"}}, // channels is a folder here
	{"scv status --", []string{"--json", "--watch"}, []string{"--follow"}},
	{"scv channels --", []string{"--json"}, nil}, // of list, which is meant without a word
	{"scv chat --send channels --", []string{"--timeout"}, []string{"--agent"}},
	{"scv completion ", []string{"bash", "zsh", "fish"}, []string{"status"}},
	{"scv --home ", []string{"somewhere"}, []string{"status", "afile"}},
	{"scv store dump --", []string{"--json"}, []string{"afile"}},
	{"scv confirm ", []string{}, []string{"afile", "list"}},
}

func TestCompletion(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "somewhere"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "afile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for shell, offered := range map[string]func(*testing.T, string, string, []string) []string{
		"bash": bashOffers, "zsh": zshOffers, "fish": fishOffers,
	} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip("no " + shell + " here")
			}
			made := at(t, "/none").scv("completion", shell)
			script := filepath.Join(t.TempDir(), "scv."+shell)
			if err := os.WriteFile(script, []byte(made.out), 0o600); err != nil || made.code != 0 {
				t.Fatal(err, made)
			}
			for _, c := range completions {
				got := offered(t, folder, script, strings.Split(c.line, " "))
				for _, word := range c.want {
					if !slices.Contains(got, word) {
						t.Errorf("%q does not offer %s but %q", c.line, word, got)
					}
				}
				for _, word := range c.not {
					if slices.Contains(got, word) {
						t.Errorf("%q offers %s", c.line, word)
					}
				}
			}
		})
	}
}

// ask runs a shell program and returns the lines it prints.
func ask(t *testing.T, folder, shell string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(shell, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "HOME="+folder)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil || errOut.Len() > 0 {
		t.Fatalf("%s: %v: %s", shell, err, errOut.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func bashOffers(t *testing.T, folder, script string, words []string) []string {
	const program = `compopt() { :; }; source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _scv; printf '%s\n' "${COMPREPLY[@]}"`
	if flag, value, given := strings.Cut(words[len(words)-1], "="); given { // three words to bash
		words = append(slices.Clone(words[:len(words)-1]), flag, "=", value)
	}
	return ask(t, folder, "bash", append([]string{"--norc", "-c", program, "bash", script}, words...)...)
}

// zshOffers lets zsh's own helpers, which work only while a line is typed, print what they are given.
func zshOffers(t *testing.T, folder, script string, typed []string) []string {
	const program = `compdef() { :; }; compset() { :; }; compadd() { print -l -- "$@"; }; _describe() { print -l -- "${(@)${(P)2}%%:*}"; }
_files() { [[ $1 == -/ ]] && print -l -- *(N/); true; }
source "$1"; shift; words=("$@"); CURRENT=$#; _scv`
	got := ask(t, folder, "zsh", append([]string{"-f", "-c", program, "zsh", script}, typed...)...)
	last := typed[len(typed)-1]
	if _, value, given := strings.Cut(last, "="); given { // compset takes the rest away
		last = value
	}
	return slices.DeleteFunc(got, func(s string) bool { return !strings.HasPrefix(s, last) })
}

func fishOffers(t *testing.T, folder, script string, words []string) []string {
	got := ask(t, folder, "fish", "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, script, strings.Join(words, " "))
	for i, s := range got {
		word, _, _ := strings.Cut(s, "\t")
		if _, value, given := strings.Cut(word, "="); given {
			word = value
		}
		got[i] = strings.TrimSuffix(word, "/")
	}
	return got
}

// The bash of macOS is 3.2 and knows nothing newer.
func TestBashScriptIsOldBash(t *testing.T) {
	script := at(t, "/none").scv("completion", "bash").out
	for _, word := range []string{"mapfile", "readarray", "local -n", "declare -A", "${cur@"} {
		if strings.Contains(script, word) {
			t.Errorf("the script uses %s", word)
		}
	}
}
