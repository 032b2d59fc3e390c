package main

import (
	"io"
	"reflect"
	"strings"
	"testing"
)

// TestAVerbIsParsedAloneAsAmongAll: a command line that parseAlone takes means the same to the whole parser.
func TestAVerbIsParsedAloneAsAmongAll(t *testing.T) {
	lines := []string{
		"status", "status --json -w", "--home /x status", "--home=/x kill h", "status --home /x", "ps --all",
		"questions", "questions list", "questions show 0123456789ab --json", "confirm --timeout 5m q", "confirm -- --help",
		"channels set a:b --senders anyone", "channels", "chat --send -- -x", "store check", "version --json",
		// These are for the whole parser.
		"", "status --help", "--help", "help status", "no-such-verb", "build-info", "status --jsn", "home", "globals", "Status", "--home x",
	}
	var cmds commands
	for field := range reflect.TypeOf(cmds).Fields() {
		lines = append(lines, strings.ToLower(field.Name))
	}
	alone := 0
	for _, line := range lines {
		args := sealLiterals(strings.Fields(line))
		if len(args) == 0 {
			continue
		}
		home, got, ok := parseAlone(args, io.Discard, io.Discard)
		if !ok {
			continue
		}
		alone++
		var all commands
		parser, err := newParser(&all, io.Discard, io.Discard, new(helped))
		if err != nil {
			t.Fatal(err)
		}
		want, err := parser.Parse(args)
		if err != nil {
			t.Errorf("scv %s: alone it is %q, among all %v", line, got.Command(), err)
			continue
		}
		ours, theirs := got.Selected().Target.Interface(), want.Selected().Target.Interface()
		if home != all.Home || got.Command() != want.Command() || !reflect.DeepEqual(ours, theirs) {
			t.Errorf("scv %s: alone %q %q %+v, among all %q %q %+v", line, got.Command(), home, ours, want.Command(), all.Home, theirs)
		}
	}
	if alone < 16 {
		t.Errorf("only %d of the lines were parsed alone", alone)
	}
}
