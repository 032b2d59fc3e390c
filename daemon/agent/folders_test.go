package agent

import (
	"slices"
	"strings"
	"testing"
)

// An agent with tools is told where files go, and its program is let in there in its own way.
func TestOutbox(t *testing.T) {
	task := Task{
		Prompt: "hello", Tools: true, Owner: true, Workspace: "/w", Received: "/files/in", Outbox: `/files/"out`,
		Env: map[string]string{"SCV_PARENT": "x"}, Session: "s1",
	}
	for driver, want := range map[string][]string{
		"claude":   {"--add-dir=/files/in", `--add-dir=/files/"out`},
		"codex":    {"-c", `sandbox_workspace_write.writable_roots=["/files/\"out"]`, "resume"},
		"gemini":   {"--include-directories=/files/in", `--include-directories=/files/"out`},
		"opencode": {},
	} {
		a, _ := driven(t, driver)
		run, err := a.Prepare(task)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(run.Env, `SCV_OUTBOX=/files/"out`) || !slices.Contains(run.Env, "SCV_PARENT=x") {
			t.Errorf("%s: environment %q", driver, run.Env)
		}
		at := -1
		for _, arg := range want {
			if i := slices.Index(run.Args, arg); i <= at {
				t.Errorf("%s: %q is not in its place in %q", driver, arg, run.Args)
			} else {
				at = i
			}
		}
		without := task
		without.Received, without.Outbox = "", ""
		if run, err = a.Prepare(without); err != nil || strings.Contains(strings.Join(run.Env, " ")+strings.Join(run.Args, " "), "/files/") {
			t.Errorf("%s without: %+v, %v", driver, run, err)
		}
	}
	if len(task.Env) != 1 {
		t.Errorf("the task was changed: %v", task.Env)
	}
	a, _ := driven(t, "codex", "-c", "sandbox_workspace_write.writable_roots=[]")
	if run, err := a.Prepare(task); err != nil || strings.Contains(strings.Join(run.Args, " "), "out") {
		t.Errorf("the owner's own list does not hold: %q, %v", run.Args, err)
	}
}
