package main

import (
	"strings"
	"testing"

	"scv/wire"
)

// TestNoQuestionIsAYes: `scv confirm "$Q" && deploy` goes on only after the owner's yes, whatever Q is: the
// name of a subcommand, a flag, a call for help, nothing at all.
func TestNoQuestionIsAYes(t *testing.T) {
	d := newAskedDaemon(t)
	d.set(wire.No)
	for _, q := range []string{
		"list", "show", "ask", "questions", "help", "--help", "-h", "-help", "--help=true", "-hh", "--version", "--json", "-",
		"--", "", " ", "--home=/", "--home", "--timeout=1s", "--detailed-exitcode", "@list", "Deploy?",
	} {
		for _, args := range [][]string{
			{"confirm", q}, {"confirm", "--", q}, {"confirm", "--json", q}, {"confirm", "--timeout", "5m", q}, {"--home", d.home, "confirm", q},
		} {
			if got := at(t, d.home).scv(args...); got.code == exitYes {
				t.Errorf("scv %q exits 0 without a yes: %q", args, got.out)
			}
		}
	}
}

// TestConfirmHelp: it is shown as any other help, and still is no yes.
func TestConfirmHelp(t *testing.T) {
	for _, args := range [][]string{{"confirm", "--help"}, {"confirm", "-h"}, {"--help", "confirm"}} {
		got := at(t, "/none").scv(args...)
		if got.code != exitOther || !strings.HasPrefix(got.out, "Usage: scv confirm") || got.errOut != "" {
			t.Errorf("scv %q: exit %d, stdout %q, stderr %q", args, got.code, got.out, got.errOut)
		}
	}
}

// TestListIsAQuestion: confirm has no subcommands; every word is asked.
func TestListIsAQuestion(t *testing.T) {
	d := newAskedDaemon(t)
	d.set(wire.Yes)
	if got := at(t, d.home).scv("confirm", "list"); got.code != exitYes || got.out != "yes\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", got.code, got.out, got.errOut)
	}
	if sent := d.requests(wire.SubjectControl); len(sent) == 0 || sent[0].data != `{"action":"confirm_ask","question":"list","timeout_seconds":1800}` {
		t.Errorf("sent %v", sent)
	}
}
