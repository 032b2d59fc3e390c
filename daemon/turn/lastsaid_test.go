package turn

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"scv/daemon/agent"
	"scv/daemon/delegation"
	"scv/internal/testexe"
	"scv/store"
	"scv/wire"
)

// Why an agent failed is what it said last, cleaned; it is in the owner's reply and not in the log.
func TestFailureTellsWhatItSaid(t *testing.T) {
	said := testexe.Step{PrintErr: "\x1b[31mno API key\x1b[0m\x00\r"}
	for name, test := range map[string]struct {
		script testexe.Script
		limit  time.Duration
		want   string
	}{
		"exit code": {testexe.Script{said, {Exit: testexe.Code(3)}}, time.Minute, "exit code 3)\n\nIt last said:\nno API key"},
		"nothing":   {testexe.Script{said}, time.Minute, "without an answer\n\nIt last said:\nno API key"},
		"too long":  {testexe.Script{said, {SleepMillis: forever}}, 2 * time.Second, "longer than 2s.\n\nIt last said:\nno API key"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.script...)
			w.limits.Owner = test.limit
			w.run()
			w.claim("c", "hello")
			if text := w.says("failure"); !strings.HasSuffix(text, test.want) {
				t.Errorf("says %q", text)
			}
			if w.logs.has("API") {
				t.Error("it is in the log")
			}
		})
	}
}

func TestAnswerDoesNotTellWhatItSaid(t *testing.T) {
	w := newWorld(t, testexe.Step{PrintErr: "working"}, testexe.Step{Print: "the answer"})
	w.run()
	w.claim("c", "hello")
	if text := w.says("reply"); text != "the answer" {
		t.Errorf("says %q", text)
	}
}

// Nobody but the owner with tools hears it, whatever agent it was that failed.
func TestWhoHearsWhatItSaid(t *testing.T) {
	for name, test := range map[string]struct {
		owner bool
		tools wire.RemoteTools
		hears bool
	}{
		"the owner with tools":    {true, wire.ToolsOwner, true},
		"the owner without tools": {true, wire.ToolsNone, false},
		"somebody else":           {false, wire.ToolsOwner, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a := owned()
			a.RemoteTools = test.tools
			w.set(a)
			w.earlier("fake-000001", store.Delegation{State: store.RunEnded, ExitCode: 1}, "")
			must(t, os.WriteFile(w.file("runs/fake-000001/err"), []byte("no API key\n"), 0o600))
			w.claim("c", "hello", begun("fake-000001"), func(c *store.Claim) { c.Owner = test.owner })
			w.run()
			if text := w.says("failure"); strings.Contains(text, "no API key") != test.hears || !strings.Contains(text, "exit code 1") {
				t.Errorf("says %q", text)
			}
		})
	}
}

func TestLastLines(t *testing.T) {
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	end := lines.String()[lines.Len()-delegation.KeptErrors:]
	text := lastLines([]byte(end))
	if len(text) > maxLastSaid || len(text) < maxLastSaid-20 || !strings.HasPrefix(text, "line ") || !strings.HasSuffix(text, "line 999") {
		t.Errorf("%d bytes: %q", len(text), text)
	}
	one := lastLines([]byte(strings.Repeat("ä", delegation.KeptErrors/2)))
	if len(one) > maxLastSaid || len(one) < maxLastSaid-utf8.UTFMax || strings.Trim(one, "ä") != "" {
		t.Errorf("%d bytes: %q", len(one), one)
	}
	escapes := "x\x1b[31" + strings.Repeat("m", 9) + "\n" + strings.Repeat("\x1b[0m", delegation.KeptErrors/4) + "\nthe end\n"
	if text := lastLines([]byte(escapes[len(escapes)-delegation.KeptErrors:])); text != "the end" {
		t.Errorf("%q", text)
	}
	if text := lastLines([]byte("short\nand whole\n")); text != "short\nand whole" {
		t.Errorf("%q", text)
	}
}

// An agent puts a pipe in the place of its output: the conversation goes on, also after a restart.
func TestAgentReplacesItsOutput(t *testing.T) {
	w := newWorld(t)
	w.agents = shell(`read task; d=$(dirname $(readlink /proc/$$/fd/1)); rm $d/out; mkfifo $d/out; echo "$task"`)
	w.run()
	w.claim("c", "hello\n")
	w.claim("c", "again\n")
	replies := w.answered(2)
	if replies[0].Text != "hello" || replies[1].Text != "again" {
		t.Errorf("replies %+v", replies)
	}
}

func shell(line string) *agent.Registry {
	return agent.FromConfig(map[string]agent.Command{"fake": {Command: []string{"/bin/sh", "-c", line}}}, os.Environ())
}
