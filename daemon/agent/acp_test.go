package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/internal/testexe"
)

const acpTestLimit = 20 * time.Second

// patient are the limits of a test that reaches none of them.
var patient = acpLimits{acpTestLimit, acpTestLimit, acpTestLimit}

// acpProcess is a program at work whose streams an agent may have.
type acpProcess struct {
	agent  *acpAgent
	stdin  io.WriteCloser
	stdout io.ReadCloser
}

func startACP(t *testing.T, limits acpLimits, script ...testexe.Step) *acpProcess {
	t.Helper()
	path, args := testexe.Command(script)
	return startProgram(t, limits, path, args...)
}

func startProgram(t *testing.T, limits acpLimits, path string, args ...string) *acpProcess {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	a := newACP(&perTurn{name: "fake", conf: Command{Command: []string{path}}, environ: os.Environ()})
	a.limits = limits
	return &acpProcess{a, stdin, stdout}
}

func (p *acpProcess) open(t *testing.T, session string) (LiveSession, error) {
	t.Helper()
	return p.agent.Open(t.Context(), acpTask("", session), p.stdin, p.stdout)
}

func acpTask(prompt, session string) Task {
	return Task{Prompt: prompt, Session: session, Tools: true, Owner: true, Workspace: os.TempDir()}
}

// converse opens a conversation with an agent that speaks the protocol.
func converse(t *testing.T, limits acpLimits, a testexe.ACP) LiveSession {
	t.Helper()
	s, err := startACP(t, limits, testexe.Step{ACP: &a}).open(t, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func turn(t *testing.T, s LiveSession, prompt string) (Reply, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), acpTestLimit)
	defer cancel()
	return s.Turn(ctx, acpTask(prompt, ""), func(string) {})
}

func says(t *testing.T, s LiveSession, prompt, want string) {
	t.Helper()
	if r, err := turn(t, s, prompt); err != nil || r.Text != want {
		t.Errorf("%q: says %.100q, %v; want %.100q", prompt, r.Text, err, want)
	}
}

// isOver waits for the end of a session.
func isOver(t *testing.T, s LiveSession) {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(acpTestLimit):
		t.Error("the session is not over")
	}
}

func lasts(t *testing.T, s LiveSession) {
	t.Helper()
	select {
	case <-s.Done():
		t.Errorf("the session is over: %v", s.(*acpSession).ended())
	default:
	}
}

func TestACPTurnsOfOneConversation(t *testing.T) {
	s := converse(t, patient, testexe.ACP{Turns: [][]testexe.ACPStep{{{Recall: true}}}})
	if !strings.HasPrefix(s.ID(), "session-") {
		t.Errorf("the conversation is called %q", s.ID())
	}
	says(t, s, "one", "one")
	says(t, s, "two", "one|two")
	says(t, s, "a\x00b\xff", "one|two|a\uFFFDb\uFFFD")
	lasts(t, s)
}

func TestACPReplyAndProgress(t *testing.T) {
	s := converse(t, patient, testexe.ACP{Turns: [][]testexe.ACPStep{
		{
			{Say: "I "},
			{Say: "look.\x1b[31m"},
			{Tool: "  Read \x1b[1mthe\n file " + strings.Repeat("ä", acpProgress)},
			{Say: "It is"},
			{Say: " empty."},
			{ToolFails: true},
		},
	}})
	var lines []string
	r, err := s.Turn(t.Context(), acpTask("hi", ""), func(line string) { lines = append(lines, line) })
	if err != nil || r.Text != "I look.\n\nIt is empty." || r.Session != s.ID() {
		t.Errorf("%+v, %v", r, err)
	}
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "Read the file ä") || !strings.HasSuffix(lines[1], "ä (failed)") || !strings.HasPrefix(lines[0], "Read the file ää") || len(lines[0]) != acpProgress {
		t.Errorf("progress %q", lines)
	}
}

func TestACPResume(t *testing.T) {
	for _, load := range []bool{false, true} {
		a := testexe.ACP{Sessions: t.TempDir(), Load: load, Turns: [][]testexe.ACPStep{{{Recall: true}}}}
		first := converse(t, patient, a)
		says(t, first, "one", "one")
		second, err := startACP(t, patient, testexe.Step{ACP: &a}).open(t, first.ID())
		if err != nil {
			t.Fatal(err)
		}
		if second.ID() != first.ID() {
			t.Errorf("it is called %q, was %q", second.ID(), first.ID())
		}
		says(t, second, "two", "one|two")
	}
}

// A conversation that cannot go on is begun anew, and the first reply says so.
func TestACPForgotten(t *testing.T) {
	for name, a := range map[string]testexe.ACP{
		"not on record": {Sessions: t.TempDir()}, "not to be loaded": {Sessions: t.TempDir(), Load: true}, "no resuming": {},
	} {
		t.Run(name, func(t *testing.T) {
			a.Turns = [][]testexe.ACPStep{{{Stop: "refusal"}}, {{Recall: true}}}
			s, err := startACP(t, patient, testexe.Step{ACP: &a}).open(t, "session-1")
			if err != nil {
				t.Fatal(err)
			}
			if s.ID() == "session-1" || s.ID() == "" {
				t.Errorf("it is called %q", s.ID())
			}
			if r, err := turn(t, s, "one"); !errors.Is(err, errACPRefused) || r.Session != s.ID() {
				t.Errorf("%+v, %v", r, err)
			}
			says(t, s, "two", acpForgot+"one|two")
			says(t, s, "three", "one|two|three")
		})
	}
}

func TestACPPermission(t *testing.T) {
	all := []string{"reject_always", "allow_always", "reject_once", "allow_once"}
	always := []string{"allow_always", "reject_always"}
	for _, c := range []struct {
		options      []string
		tools, owner bool
		want         string
	}{
		{all, true, true, "id of allow_once"},
		{always, true, true, "id of allow_always"},
		{[]string{"reject_once"}, true, true, "cancelled"},
		{[]string{"something"}, true, true, "cancelled"},
		{all, false, true, "id of reject_once"},
		{all, true, false, "id of reject_once"},
		{all, false, false, "id of reject_once"},
		{always, false, false, "id of reject_always"},
		{[]string{"allow_once"}, false, false, "cancelled"},
	} {
		s := converse(t, patient, testexe.ACP{Turns: [][]testexe.ACPStep{{{Ask: c.options}}}})
		r, err := s.Turn(t.Context(), Task{Prompt: "hi", Tools: c.tools, Owner: c.owner}, func(string) {})
		if err != nil || r.Text != c.want {
			t.Errorf("%+v: %q, %v", c, r.Text, err)
		}
	}
}

func TestACPOurFilesAndTerminalsAreRefused(t *testing.T) {
	s := converse(t, patient, testexe.ACP{Turns: [][]testexe.ACPStep{{{Reach: true}}}})
	says(t, s, "hi", "0")
}

func TestACPEndsOfATurn(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []testexe.ACPStep
		want  string
		err   error
	}{
		{"nothing", nil, "", ErrNoAnswer},
		{"nothing to see", []testexe.ACPStep{{Say: " \x1b[0m\n"}}, "", ErrNoAnswer},
		{"refused", []testexe.ACPStep{{Say: "s3cret"}, {Stop: "refusal"}}, "", errACPRefused},
		{"tokens", []testexe.ACPStep{{Say: "half"}, {Stop: "max_tokens"}}, "half" + acpOutTokens, nil},
		{"tokens, nothing", []testexe.ACPStep{{Stop: "max_tokens"}}, "", errACPTokens},
		{"steps", []testexe.ACPStep{{Say: "half"}, {Stop: "max_turn_requests"}}, "half" + acpOutSteps, nil},
		{"steps, nothing", []testexe.ACPStep{{Stop: "max_turn_requests"}}, "", errACPSteps},
		{"of tomorrow", []testexe.ACPStep{{Say: "half"}, {Stop: "coffee"}}, "half", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := converse(t, patient, testexe.ACP{Turns: [][]testexe.ACPStep{c.steps, {{Say: "well"}}}})
			r, err := turn(t, s, "hi")
			if r.Text != c.want || !errors.Is(err, c.err) || strings.Contains(fmt.Sprint(err), "s3cret") {
				t.Errorf("%q, %v", r.Text, err)
			}
			says(t, s, "again", "well")
		})
	}
}

// What the agent says of an error is kept apart from the sentence.
func TestACPErrors(t *testing.T) {
	s := converse(t, patient, testexe.ACP{Turns: [][]testexe.ACPStep{{{Fail: "s3cret \x1b[1mreason"}}, {{Say: "well"}}}})
	_, err := turn(t, s, "hi")
	said, ok := errors.AsType[*SaidError](err)
	if !ok || said.Said != "Internal error: s3cret reason" || !strings.Contains(err.Error(), "error -32603") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
	says(t, s, "again", "well")

	_, err = startACP(t, patient, testexe.Step{ACP: &testexe.ACP{NewFails: true}}).open(t, "")
	if said, ok = errors.AsType[*SaidError](err); !ok || !errors.Is(err, errACPLogin) || !strings.Contains(said.Said, "s3cret") {
		t.Errorf("%v", err)
	}
	_, err = startACP(t, patient, testexe.Step{ACP: &testexe.ACP{Version: 7}}).open(t, "")
	if err == nil || !strings.Contains(err.Error(), "version 7") {
		t.Errorf("%v", err)
	}
}

func TestACPCancel(t *testing.T) {
	s := converse(t, patient, testexe.ACP{Turns: [][]testexe.ACPStep{
		{{Say: "half"}, {Tool: "now"}, {WaitCancel: true}},
		{{Say: "well"}},
	}})
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := s.Turn(ctx, acpTask("hi", ""), func(string) { cancel(cause) })
	if !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	says(t, s, "again", "well")
}

// An agent that goes on after it was cancelled is of no more use, and gets nothing any more.
func TestACPNotToBeCancelled(t *testing.T) {
	limits := patient
	limits.cancelling = 50 * time.Millisecond
	s := converse(t, limits, testexe.ACP{Turns: [][]testexe.ACPStep{{{Do: &testexe.Step{SleepMillis: 60_000}}}}})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Turn(ctx, acpTask("hi", ""), func(string) {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	isOver(t, s)
	if _, err := turn(t, s, "again"); !errors.Is(err, errACPStuck) {
		t.Errorf("%v", err)
	}
}

func TestACPOneTurnAtATime(t *testing.T) {
	s := converse(t, patient, testexe.ACP{Turns: [][]testexe.ACPStep{{{Tool: "now"}, {WaitCancel: true}}}})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Turn(ctx, acpTask("hi", ""), func(string) {
		if _, err := turn(t, s, "again"); !errors.Is(err, errACPBusy) {
			t.Errorf("%v", err)
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Many small updates all arrive, and a long reply is cut.
func TestACPMuch(t *testing.T) {
	s := converse(t, patient, testexe.ACP{Turns: [][]testexe.ACPStep{
		{{SayTimes: 5_000}},
		{{SayBytes: acpReply}},
		{{SayBytes: acpReply}, {Say: "x"}},
		{{SayBytes: 1 << 20}},
	}})
	says(t, s, "1", strings.TrimSpace(strings.Repeat("x\n", 5_000)))
	says(t, s, "2", strings.Repeat("x", acpReply))
	cut := strings.Repeat("x", acpReply-len(acpCut)) + acpCut
	says(t, s, "3", cut)
	says(t, s, "4", cut)
	lasts(t, s)
}

// A message that the library could not take ends the conversation, with a sentence.
func TestACPLongMessage(t *testing.T) {
	s, err := startProgram(t, patient, "/bin/sh", "-c", `read x; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
		read x; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
		read x; head -c 11000000 /dev/zero | tr '\0' x; read x`).open(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn(t, s, "hi"); !errors.Is(err, errACPLine) {
		t.Errorf("%v", err)
	}
	isOver(t, s)
}

// Only another SCV has background jobs that count.
func TestACPBackgroundJobs(t *testing.T) {
	jobs := uint32(3)
	for driver, want := range map[string]uint32{"acp": 0, "scv": 3} {
		p := startACP(t, patient, testexe.Step{ACP: &testexe.ACP{Turns: [][]testexe.ACPStep{{{Jobs: &jobs}, {Say: "well"}}}}})
		p.agent = drive(&perTurn{name: "fake", conf: Command{Driver: driver, Command: []string{"x"}}}).(*acpAgent)
		s, err := p.open(t, "")
		if err != nil {
			t.Fatal(err)
		}
		says(t, s, "hi", "well")
		if got := s.BackgroundJobs(); got != want {
			t.Errorf("%s: %d jobs", driver, got)
		}
	}
}

func TestNested(t *testing.T) {
	dir, environ := bin(t, "scv", "other")
	home := t.TempDir()
	for program, command := range map[string][]string{"scv": nil, "other": {filepath.Join(dir, "other"), "-x"}} {
		a := drive(&perTurn{name: "inner", conf: Command{Driver: "scv", Command: command, Home: home}, environ: environ})
		run, err := a.Prepare(Task{Prompt: "s3cret", Tools: true, Owner: true, Env: map[string]string{"SCV_HOME": "/outer"}})
		want := append(slices.Clone(command[min(1, len(command)):]), "--home", home, "agent")
		if err != nil || run.Path != filepath.Join(dir, program) || !slices.Equal(run.Args, want) || !slices.Contains(run.Env, "SCV_HOME=/outer") {
			t.Errorf("%+v, %v", run, err)
		}
		if _, err := a.Prepare(Task{Tools: false, Owner: true}); !errors.Is(err, ErrNoToolFree) {
			t.Error(err)
		}
	}
}

// A home that is not there is not made by being written wrong.
func TestNestedWithoutItsHome(t *testing.T) {
	dir, environ := bin(t, "scv")
	for _, home := range []string{filepath.Join(dir, "gone"), filepath.Join(dir, "scv")} {
		a := drive(&perTurn{name: "inner", conf: Command{Driver: "scv", Home: home}, environ: environ})
		_, err := a.Prepare(Task{Prompt: "hello", Tools: true, Owner: true})
		for _, err := range []error{err, Ready(a)} {
			if !errors.Is(err, ErrNoHome) || !strings.Contains(err.Error(), home) || !strings.Contains(err.Error(), "[agents.inner]") {
				t.Errorf("%s: %v", home, err)
			}
		}
	}
}

func TestACPIsForTheOwnerWithTools(t *testing.T) {
	_, environ := bin(t, "own")
	a := newACP(&perTurn{name: "helper", conf: Command{Command: []string{"own", "--acp"}}, environ: environ})
	for _, c := range []struct {
		tools, owner bool
		err          error
	}{{false, false, ErrNoToolFree}, {false, true, ErrNoToolFree}, {true, false, ErrNotOwner}, {true, true, nil}} {
		run, err := a.Prepare(Task{Prompt: "s3cret", Tools: c.tools, Owner: c.owner})
		if !errors.Is(err, c.err) || run.Stdin != "" || slices.Contains(run.Args, "s3cret") {
			t.Errorf("%+v: %+v %v", c, run, err)
		}
	}
	if _, err := a.Answer([]byte("half"), 0); !errors.Is(err, errACPEnded) {
		t.Errorf("%v", err)
	}
}
