package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/wire"
)

func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "hook", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// hooked runs the hook on an input while the question stands as state.
func hooked(t *testing.T, input string, state wire.ConfirmState, shown func(string) string) (result, *askedDaemon) {
	d, _ := boundDaemon(t, shown)
	d.set(state)
	h := at(t, d.home)
	h.stdin = input
	return h.scv("hook", "permission"), d
}

// TestHookDecides: allow for exactly yes; every other outcome denies, each with its own reason, in the
// form that the event wants.
func TestHookDecides(t *testing.T) {
	reasons := map[string]bool{}
	for _, state := range []wire.ConfirmState{wire.Yes, wire.No, wire.Expired, wire.Withdrawn, wire.NotAsked, "YES", ""} {
		word := map[bool]string{true: "allow", false: "deny"}[state == wire.Yes]
		known := state
		if state == "YES" || state == "" {
			known = wire.Unknown
		}
		reasons[meaningOf(known)] = true
		for name, want := range map[string]string{
			"pre_tool_use.json":       `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"` + word + `","permissionDecisionReason":"` + meaningOf(known) + `"}}`,
			"permission_request.json": `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"` + word + `","message":"` + meaningOf(known) + `"}}}`,
		} {
			want := strings.Replace(want, `"allow","message":"`+meaningOf(known)+`"`, `"allow"`, 1)
			if got, _ := hooked(t, recorded(t, name), state, asShown); got.code != 0 || got.out != want+"\n" {
				t.Errorf("%s, %s: exit %d, stdout %s, stderr %s; want %s", name, state, got.code, got.out, got.errOut, want)
			}
		}
	}
	if len(reasons) != 6 {
		t.Errorf("outcomes share a reason: %v", reasons)
	}
}

// TestHookShowsWhatIsAsked: the tool, the place and the input, in letters that nobody can hide behind.
func TestHookShowsWhatIsAsked(t *testing.T) {
	_, d := hooked(t, recorded(t, "pre_tool_use.json"), wire.No, asShown)
	want := `May the agent use the tool Bash in /srv/x? {"command":"rm -rf build\necho \"done\"","description":"Clean"} (input 5ab`
	if got := d.question(); !strings.HasPrefix(got, want[:len(want)-3]) {
		t.Errorf("asked %s\nwant %s", got, want)
	}
}

// TestHookDeniesWhatCannotBeShown: an input of which the owner would see only a part is not asked about,
// whatever the tool, and whatever stands first in it. Of a file's text the beginning is shown, and that there is more, after
// all else.
func TestHookDeniesWhatCannotBeShown(t *testing.T) {
	long := strings.Repeat("true; ", 1000)
	ask := func(tool, input string, shown func(string) string) (result, *askedDaemon) {
		return hooked(t, `{"hook_event_name":"PreToolUse","cwd":"/srv/x","tool_name":"`+tool+`","tool_input":`+input+`}`, wire.Yes, shown)
	}
	for name, c := range map[string]struct{ tool, input string }{
		"a command":                {"Bash", `{"command":"` + long + `rm -rf /"}`},
		"a list":                   {"mcp__x__launch", `{"command":["` + long + `"]}`},
		"a script after a note":    {"mcp__x__launch", `{"note":"` + long + `","script":"rm -rf /"}`},
		"a tool that is not known": {"Save", `{"content":"` + long + `","file_path":"/etc/passwd"}`},
		"one named alike":          {"mcp__x__Write", `{"content":"` + long + `","file_path":"/etc/passwd"}`},
		"no place":                 {"Write", `{"content":"` + long + `"}`},
		"a place elsewhere":        {"Write", `{"content":"` + long + `","notebook_path":"/x"}`},
		"a long place":             {"Write", `{"content":"x","file_path":"/` + long + `"}`},
		"something long besides":   {"Write", `{"content":"x","file_path":"/x","then":"` + long + `"}`},
		"text of another tool":     {"Edit", `{"file_path":"/x","content":"` + long + `"}`},
	} {
		got, d := ask(c.tool, c.input, asShown)
		if !strings.Contains(got.out, `"deny"`) || !strings.Contains(got.out, "too long for the owner") || d.question() != "" {
			t.Errorf("%s: %+v, asked %q", name, got, d.question())
		}
	}
	for name, c := range map[string]struct{ tool, input, begins string }{
		"write":       {"Write", `{"content":"` + long + `","file_path":"/etc/passwd"}`, `{"file_path":"/etc/passwd","content":"true; `},
		"edit":        {"Edit", `{"new_string":"` + long + `","old_string":"` + long + `","file_path":"/x","replace_all":true}`, `{"file_path":"/x","replace_all":true,"new_string":"true; `},
		"short texts": {"Edit", `{"old_string":"a","new_string":"` + long + `","file_path":"/x"}`, `{"file_path":"/x","old_string":"a","new_string":"true; `},
		"multi":       {"MultiEdit", `{"edits":[{"old_string":"` + long + `"}],"file_path":"/x"}`, `{"file_path":"/x","edits":[{"old_string":"true; `},
		"notebook":    {"NotebookEdit", `{"new_source":"` + long + `","notebook_path":"/x.ipynb"}`, `{"notebook_path":"/x.ipynb","new_source":"true; `},
	} {
		got, d := ask(c.tool, c.input, asShown)
		asked := d.question()
		if !strings.Contains(got.out, `"allow"`) || !strings.HasPrefix(asked, "May the agent use the tool "+c.tool+" in /srv/x? "+c.begins) ||
			!strings.Contains(asked, " … [") || len(asked) > 3000 {
			t.Errorf("%s: %+v, asked %q", name, got, asked)
		}
	}
}

// TestHookMustBeShownWhole: a question that was cut when it was shown allows nothing, also where the hash of the
// input stands in what is left of it, as in the name of a folder.
func TestHookMustBeShownWhole(t *testing.T) {
	_, d := hooked(t, recorded(t, "pre_tool_use.json"), wire.No, asShown)
	whole := d.question()
	tail := whole[strings.LastIndex(whole, " (input "):]
	for name, shown := range map[string]func(string) string{
		"without its hash": func(q string) string { return q[:100] },
		"with it before a cut": func(q string) string {
			return "May it, in /srv/" + tail + "? " + q[:20] + " … [cut: too long when shown]"
		},
	} {
		if got, _ := hooked(t, recorded(t, "pre_tool_use.json"), wire.Yes, shown); !strings.Contains(got.out, `"deny"`) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestHookFailsClosed: what is no hook's input, or comes where nobody can be asked, denies. Exit code 2 is
// the only other one, since agents go on after any third.
func TestHookFailsClosed(t *testing.T) {
	for _, input := range []string{
		"", "{", "[]", "null", `{"hook_event_name":"PreToolUse"}`, `{"hook_event_name":"PreToolUse","tool_name":"Bash"}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":"rm"}`, `{"hook_event_name":"PreToolUse","tool_name":"","tool_input":{}}`,
		`{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{}}`, `{"hook_event_name":"PreToolUse","tool_name":7,"tool_input":{}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}} x`,
		`{"hook_event_name":"PreToolUse","tool_name":"Read","tool_name":"Bash","tool_input":{}}`,
	} {
		if got, d := hooked(t, input, wire.Yes, asShown); got.code != 2 || got.out != "" || !strings.HasPrefix(got.errOut, "scv: denied") || d.question() != "" {
			t.Errorf("%q: %+v", input, got)
		}
	}
	h := at(t, t.TempDir())
	h.stdin = recorded(t, "pre_tool_use.json")
	if got := h.scv("hook", "permission"); got.code != 0 || !strings.Contains(got.out, `"deny"`) || !strings.Contains(got.out, "no daemon is running") {
		t.Errorf("without a daemon: %+v", got)
	}
	d, told := boundDaemon(t, asShown)
	d.set(wire.Yes)
	var errOut strings.Builder
	code := run(t.Context(), []string{"hook", "permission"}, strings.NewReader(h.stdin), fullDisk{}, &errOut, func(name string) string {
		return map[string]string{"SCV_HOME": d.home}[name]
	})
	if code != 2 || len(*told) != 1 || !strings.HasPrefix((*told)[0], "Not going ahead after your yes") {
		t.Errorf("a decision that could not be told: exit %d, %s, the owner was told %q", code, errOut.String(), *told)
	}
}
