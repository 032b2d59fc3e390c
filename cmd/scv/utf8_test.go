package main

import (
	"strings"
	"testing"

	"scv/wire"
)

// TestWordsThatAreNoTextAreNotSent: what is asked is what was written, or nothing (docs/rules.md §1).
func TestWordsThatAreNoTextAreNotSent(t *testing.T) {
	d := newAskedDaemon(t)
	d.set(wire.Yes)
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitOther, []string{"confirm", "Deploy \xff?"}},
		{exitOther, []string{"confirm", "--", "Deploy \xff?"}},
		{exitUsage, []string{"notify", "done \xff"}},
		{exitUsage, []string{"chat", "--send", "hello \xff"}},
		{exitFailed, []string{"questions", "show", "\xff"}},
		{exitFailed, []string{"channels", "set", "local:default", "--workspace", "/tmp/\xff"}},
	} {
		got := at(t, d.home).scv(c.args...)
		if got.code != c.code || got.out != "" || !strings.Contains(got.errOut, "not UTF-8") {
			t.Errorf("scv %q: %+v", c.args, got)
		}
	}
	for _, subject := range wire.RequestSubjects() {
		for _, sent := range d.requests(subject) {
			if sent.data != `{"action":"status"}` {
				t.Errorf("sent on %s: %s", subject, sent.data)
			}
		}
	}
}

// TestAFolderIsTheOneThatWasNamed, whatever bytes its name has.
func TestAFolderIsTheOneThatWasNamed(t *testing.T) {
	home := t.TempDir() + "/\xff"
	for _, args := range [][]string{{"--home", home, "status"}, {"--home=" + home, "status"}} {
		if got := at(t, "/none").scv(args...); got.code != exitNoDaemon || !strings.Contains(got.errOut, `/\xff`) {
			t.Errorf("scv %q: %+v", args, got)
		}
	}
}
