package agent

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// driven is a configured agent with a driver, whose program is there.
func driven(t *testing.T, driver string, extra ...string) (a Agent, environ []string) {
	t.Helper()
	dir, environ := bin(t, driver)
	c := Command{Driver: driver}
	if extra != nil {
		c.Command = append([]string{filepath.Join(dir, driver)}, extra...)
	}
	return one(t, c, environ), environ
}

// recorded is what a real program printed.
func recorded(t *testing.T, driver, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", driver, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) { // of some endings a program prints nothing
		t.Fatal(err)
	}
	return b
}

var perTurnDrivers = []string{"claude", "codex", "gemini", "opencode"}

// What real programs printed is read as what they said, complete and condensed alike.
func TestRecordedStreams(t *testing.T) {
	type ending struct {
		text, said string // text is a prefix, said a part
		err        error
	}
	for _, driver := range perTurnDrivers {
		a, _ := driven(t, driver)
		for name, want := range map[string]ending{
			"answer": {text: "You said: hello there"},
			"tool":   {text: "It printed: "},
			"failed": {err: ErrUnsuccessful, said: map[string]string{"claude": "Not logged in"}[driver]},
			"lost":   {err: ErrSessionLost},
		} {
			out, errs := recorded(t, driver, name+".jsonl"), recorded(t, driver, name+".err")
			exit := 0
			if want.err != nil {
				exit = 1
			}
			if want.err != nil && driver != "claude" && name == "failed" {
				want.said = "invalid key"
			}
			kept, err := Condenser(a)(bytes.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			again, err := Condenser(a)(bytes.NewReader(kept))
			if err != nil || !bytes.Equal(again, kept) || bytes.Count(kept, []byte("\n")) != 1 {
				t.Errorf("%s %s: condensing twice: %v\n%s%s", driver, name, err, kept, again)
			}
			for form, out := range map[string][]byte{"complete": out, "condensed": kept} {
				got, err := Verdict(a, out, errs, exit)
				if !errors.Is(err, want.err) || !strings.HasPrefix(got.Text, want.text) || (err == nil) != (got.Session != "") {
					t.Errorf("%s %s %s: %+v, %v", driver, name, form, got, err)
				}
				said := new(SaidError)
				if want.said != "" && (!errors.As(err, &said) || !strings.Contains(said.Said, want.said) || strings.Contains(err.Error(), want.said)) {
					t.Errorf("%s %s %s: it said %q, the error is %v", driver, name, form, said.Said, err)
				}
			}
		}
	}
}

// A person is told what a tool does, in one line; nothing else is worth a line.
func TestProgress(t *testing.T) {
	for _, driver := range perTurnDrivers {
		a, _ := driven(t, driver)
		var lines []string
		for line := range bytes.Lines(recorded(t, driver, "tool.jsonl")) {
			if text := a.(Talkative).Progress(line); text != "" {
				lines = append(lines, text)
			}
		}
		if !slices.Equal(lines, []string{"runs: echo made > made.txt; cat made.txt"}) {
			t.Errorf("%s: %q", driver, lines)
		}
		for _, line := range []string{"", "{", "\xff", "[1]", `{"type":7}`, `{"type":"assistant","message":"x"}`, `{"type":"tool_use","parameters":[]}`} {
			if text := a.(Talkative).Progress([]byte(line)); text != "" && text != "uses: a tool" {
				t.Errorf("%s: %q of %q", driver, text, line)
			}
		}
	}
	long := `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"` + strings.Repeat("é\\n", 200) + "\x1b" + `"}}]}}`
	a, _ := driven(t, "claude")
	if got := []rune(a.(Talkative).Progress([]byte(strings.ReplaceAll(long, "\x1b", `\u001b[31m`)))); len(got) != maxProgress || strings.ContainsAny(string(got), "\x1b\n") {
		t.Errorf("%d characters: %q", len(got), string(got))
	}
	for tool, want := range map[string]string{
		`"name":"Read","input":{"file_path":"/a b"}`:               "reads: /a b",
		`"name":"Edit","input":{"file_path":"/a"}`:                 "edits: /a",
		`"name":"Write","input":{"file_path":"/a","content":"s"}`:  "writes: /a",
		`"name":"Grep","input":{"pattern":"x","path":"/a"}`:        "searches: x",
		`"name":"WebFetch","input":{"url":"http://x","prompt":""}`: "fetches: http://x",
		`"name":"Task","input":{"n":1}`:                            "uses: Task",
	} {
		line := `{"type":"assistant","message":{"content":[{"type":"text"},{"type":"tool_use",` + tool + `}]}}`
		if got := a.(Talkative).Progress([]byte(line)); got != want {
			t.Errorf("%s: %q", tool, got)
		}
	}
}

func TestDriversArguments(t *testing.T) {
	const session = "00000001-0000-4000-8000-000000000000"
	for _, c := range []struct {
		driver, session string
		extra, want     []string
	}{
		{"codex", "", nil, []string{"exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write", "-"}},
		{"codex", session, nil, []string{"exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write", "resume", session, "-"}},
		{
			"codex", session,
			[]string{"--sandbox=danger-full-access"},
			[]string{"--sandbox=danger-full-access", "exec", "--json", "--skip-git-repo-check", "resume", session, "-"},
		},
		{"gemini", session, nil, []string{"--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust", "--resume", session}},
		{"gemini", "", []string{"-y"}, []string{"-y", "--output-format", "stream-json", "--skip-trust"}},
		{"opencode", session, []string{"-m", "x"}, []string{"-m", "x", "run", "--format", "json", "--auto", "--session", session}},
		{
			"claude", session,
			[]string{"--permission-mode", "dontAsk"},
			[]string{"--permission-mode", "dontAsk", "-p", "--output-format", "stream-json", "--verbose", "--resume", session},
		},
		// What cannot be the name of a session is none: it could be read as an option.
		{"codex", "--help", nil, []string{"exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write", "-"}},
		{"gemini", "a b", []string{"-y"}, []string{"-y", "--output-format", "stream-json", "--skip-trust"}},
		{"gemini", strings.Repeat("a", 129), []string{"-y"}, []string{"-y", "--output-format", "stream-json", "--skip-trust"}},
	} {
		a, environ := driven(t, c.driver, c.extra...)
		task := owners("--help\x00")
		task.Session = c.session
		got, err := a.Prepare(task)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got.Args); diff != "" || got.Stdin != "--help\uFFFD" || got.Dir != "/work/space" {
			t.Errorf("%s %q: %+v\n%s", c.driver, c.session, got, diff)
		}
		if want := filepath.Join(strings.TrimPrefix(environ[0][strings.LastIndex(environ[0], ":")+1:], "PATH="), c.driver); got.Path != want {
			t.Errorf("%s is run as %s, want %s", c.driver, got.Path, want)
		}
	}
}

// To root Claude Code refuses to skip its checks, and that it is in a sandbox is not ours to say.
func TestClaudeForTheOwner(t *testing.T) {
	for name, c := range map[string]struct {
		root bool
		env  []string
		want string
	}{
		"user":            {false, nil, "--permission-mode bypassPermissions"},
		"root":            {true, nil, "--permission-mode acceptEdits --allowedTools=" + claudeTools},
		"root in sandbox": {true, []string{"IS_SANDBOX=1"}, "--permission-mode bypassPermissions"},
	} {
		got := strings.Join(claude{root: c.root}.args(Task{}, nil, c.env), " ")
		if got != "-p --output-format stream-json --verbose "+c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestWithoutTools(t *testing.T) {
	home := t.TempDir()
	free := func(a Agent, prompt string, owner bool) (Run, error) {
		return a.Prepare(Task{Prompt: prompt, Owner: owner, Session: "s-1", Workspace: "/work/space", Env: map[string]string{"SCV_HOME": home}})
	}
	a, _ := driven(t, "claude", "--model", "opus", "--tools", "default", "--add-dir", "/", "--system-prompt=be kind", "--mcp-config", "x", "--effort")
	for _, owner := range []bool{false, true} {
		run, err := free(a, "a@b @/etc/passwd", owner)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"--model", "opus", "--system-prompt=be kind", "-p", "--output-format", "stream-json", "--verbose", "--resume", "s-1",
			"--tools", "", "--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands",
			"--settings", `{"permissions":{"deny":["Read(//**)"]},"autoMemoryEnabled":false}`,
		}
		if diff := cmp.Diff(want, run.Args); diff != "" || run.Stdin != "a@\u200bb @\u200b/etc/passwd" || run.Dir != filepath.Join(home, "empty") {
			t.Errorf("owner %v: %+v\n%s", owner, run, diff)
		}
	}
	for in, want := range map[string]string{
		"/logout": "\u200b/logout", " \n!ls": "\u200b!ls", "#keep": "\u200b#keep", "--tools default": "--tools default",
		"": "", " ": " ", "1/2": "1/2", "@": "@\u200b", "ä/": "ä/",
	} {
		if got := disarm(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
	if !ToolFree(a) {
		t.Error("it counts as an agent that needs tools")
	}
	// What lies in its folder would be read.
	if err := os.WriteFile(filepath.Join(home, "empty", "CLAUDE.md"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := free(a, "hi", false); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("in a folder with something in it: %v", err)
	}
	if _, err := a.Prepare(Task{Prompt: "hi"}); err == nil {
		t.Error("without a home it works somewhere")
	}
	if _, err := a.Prepare(Task{Prompt: "hi", Tools: true}); !errors.Is(err, ErrNotOwner) {
		t.Errorf("tools for a stranger: %v", err)
	}
	for _, driver := range []string{"codex", "gemini", "opencode"} {
		a, _ := driven(t, driver)
		for _, owner := range []bool{false, true} {
			if _, err := free(a, "hi", owner); !errors.Is(err, ErrNoToolFree) {
				t.Errorf("%s, owner %v: %v", driver, owner, err)
			}
		}
		if ToolFree(a) {
			t.Errorf("%s counts as tool-free without a proof", driver)
		}
	}
}

// Whatever a program prints, there is an answer or a sentence, complete and condensed alike.
func TestBadOutputs(t *testing.T) {
	claude, _ := driven(t, "claude")
	gemini, _ := driven(t, "gemini")
	result := func(text string) string {
		return `{"type":"result","subtype":"success","session_id":"s","result":"` + text + `"}` + "\n"
	}
	cut := strings.Repeat("x", maxReply-len(acpCut)) + acpCut
	for name, c := range map[string]struct {
		agent Agent
		out   string
		exit  int
		want  string
		err   error
		words string
	}{
		"nothing":             {claude, "", 0, "", ErrNoAnswer, "[agents.helper]"},
		"no lines of JSON":    {claude, "Hello!\nI am another program.\n", 0, "", ErrNoAnswer, "[agents.helper]"},
		"another's lines":     {gemini, `{"a":1}` + "\n", 0, "", ErrNoAnswer, "[agents.helper]"},
		"init and no more":    {claude, `{"type":"system","subtype":"init","session_id":"s"}`, 0, "", ErrNoAnswer, "without an answer"},
		"blank":               {claude, result(" \\n\\u001b[0m"), 0, "", ErrNoAnswer, "without an answer"},
		"failed silently":     {claude, "", 1, "", ErrUnsuccessful, "exit code 1"},
		"killed":              {claude, result("hi"), -1, "", ErrUnsuccessful, "by a signal"},
		"its own word":        {claude, `{"type":"result","is_error":true,"result":"s3cret"}`, 0, "", ErrUnsuccessful, "by its own account"},
		"not UTF-8":           {claude, result("a\xffb"), 0, "a\uFFFDb", nil, ""},
		"noise around":        {claude, "\xff\xfe\n{\n[]\n" + result("hi") + "bye", 0, "hi", nil, ""},
		"twice a name":        {claude, `{"type":"result","type":"result","subtype":"success","result":"hi"}`, 0, "hi", nil, ""},
		"colours":             {claude, result("\\u001b[31mred\\u001b[0m"), 0, "red", nil, ""},
		"no last newline":     {claude, strings.TrimSpace(result("hi")), 0, "hi", nil, ""},
		"other system's":      {claude, strings.ReplaceAll(result("hi"), "\n", "\r\n"), 0, "hi", nil, ""},
		"longest":             {claude, result(strings.Repeat("x", maxReply)), 0, strings.Repeat("x", maxReply), nil, ""},
		"too long":            {claude, result(strings.Repeat("x", maxReply+1)), 0, cut, nil, ""},
		"far too long":        {claude, result(strings.Repeat("x", 3<<20)), 0, cut, nil, ""},
		"all escapes":         {claude, result(strings.Repeat(`\"`, maxReply)), 0, strings.Repeat(`"`, maxReply), nil, ""},
		"a line without end":  {claude, strings.Repeat("{", maxLine+1), 0, "", ErrNoAnswer, "4 MiB"},
		"an answer too long":  {claude, result(strings.Repeat("x", maxLine)), 0, "", ErrNoAnswer, "4 MiB"},
		"long lines skipped":  {claude, strings.Repeat("x", maxLine+1) + "\n" + result("hi"), 0, "hi", nil, ""},
		"the last one counts": {claude, result("one") + result("two"), 0, "two", nil, ""},
		"recovered":           {claude, `{"type":"result","is_error":true}` + "\n" + result("two"), 0, "two", nil, ""},
		"pieces":              {gemini, `{"type":"message","role":"assistant","content":"a"}` + "\n" + `{"type":"message","role":"assistant","content":"b"}` + "\n" + `{"type":"tool_use"}` + "\n" + `{"type":"message","role":"assistant","content":"c"}` + "\n" + `{"type":"result","status":"success"}`, 0, "c", nil, ""},
		"pieces and no more":  {gemini, `{"type":"message","role":"assistant","content":"ab"}` + "\n" + `{"type":"tool_use"}` + "\n" + `{"type":"result","status":"success"}`, 0, "ab", nil, ""},
		"many pieces":         {gemini, strings.Repeat(`{"type":"message","role":"assistant","content":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}`+"\n", 5000), 0, cut, nil, ""},
	} {
		kept, err := Condenser(c.agent)(strings.NewReader(c.out))
		if err != nil || len(kept) > KeptAnswer {
			t.Fatalf("%s: %d bytes are kept, %v", name, len(kept), err)
		}
		for form, out := range map[string][]byte{"complete": []byte(c.out), "condensed": kept} {
			got, err := c.agent.Answer(out, c.exit)
			if got.Text != c.want || !errors.Is(err, c.err) || (err != nil) != (c.err != nil) {
				t.Errorf("%s, %s: %d bytes %.40q, %v", name, form, len(got.Text), got.Text, err)
			}
			if err != nil && (!strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("%s, %s: %v", name, form, err)
			}
		}
	}
}

// endless is so many bytes of lines that an agent could print, and an answer at the end.
func endless(n int64) io.Reader {
	noise := strings.Repeat(`{"type":"user","message":"`+strings.Repeat("x", 4000)+`"}`+"\n", 16)
	var all []io.Reader
	for ; n > 0; n -= int64(len(noise)) {
		all = append(all, strings.NewReader(noise))
	}
	return io.MultiReader(append(all, strings.NewReader(`{"type":"result","subtype":"success","result":"done"}`))...)
}

// The most that a run may print is read through, and never held in memory.
func TestCondenseStreams(t *testing.T) {
	a, _ := driven(t, "claude")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	kept, err := Condenser(a)(endless(64 << 20))
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
		t.Errorf("it took %d MiB in all", took>>20)
	}
	got, err := a.Answer(kept, 0)
	if err != nil || got.Text != "done" {
		t.Errorf("%+v, %v", got, err)
	}
	broken := errors.New("broken")
	if _, err := Condenser(a)(io.MultiReader(endless(1), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("a broken disk: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func FuzzStreams(f *testing.F) {
	for _, driver := range perTurnDrivers {
		for _, name := range []string{"answer", "tool", "failed", "lost"} {
			b, err := os.ReadFile(filepath.Join("testdata", driver, name+".jsonl"))
			if err == nil {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		for _, p := range []program{claude{}, codex{}, gemini{}, opencode{}} {
			a := &cli{&perTurn{name: "helper"}, p}
			whole, wholeErr := a.Answer(out, 0)
			kept, err := a.Condense(bytes.NewReader(out))
			if err != nil || len(kept) > KeptAnswer {
				t.Fatalf("%T keeps %d bytes, %v", p, len(kept), err)
			}
			part, partErr := a.Answer(kept, 0)
			if whole != part || (wholeErr == nil) != (partErr == nil) || wholeErr != nil && wholeErr.Error() != partErr.Error() {
				t.Fatalf("%T: %+v %v, condensed %+v %v", p, whole, wholeErr, part, partErr)
			}
			if wholeErr == nil && (whole.Text == "" || Clean(whole.Text) != whole.Text || len(whole.Text) > maxReply) {
				t.Fatalf("%T answers %q", p, whole.Text)
			}
			for line := range bytes.Lines(out) {
				if text := a.Progress(line); len([]rune(text)) > maxProgress || strings.ContainsAny(text, "\n\x1b") {
					t.Fatalf("%T tells %q", p, text)
				}
			}
		}
	})
}
