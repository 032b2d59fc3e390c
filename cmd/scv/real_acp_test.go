//go:build agents && linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestRealACP is what a live agent must show. It is set to ask before every command; whether it may is
// decided by the owner's grant alone.
func TestRealACP(t *testing.T) {
	r := newReal(t)
	config := filepath.Join(r.home, "config.toml")
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	r.write(config, string(before)+fmt.Sprintf(`
[agents.live]
driver = "acp"
command = [%q, "-c", "approval_policy=\"untrusted\"", "-c", "sandbox_mode=\"danger-full-access\""]
env = ["FAKE_KEY"]
`, os.Getenv("SCV_TEST_CODEX_ACP")))
	r.must("reload")
	r.must("channels", "set", "local:default", "--agent", "live")
	r.says("hello, agent", "You said: hello, agent")
	first := r.onlyRun()
	r.says("what did I say first", "You first said: hello, agent")
	if second := r.onlyRun(); second.PID != first.PID || second.Handle != first.Handle || second.Turn != 2 || second.Idle == 0 {
		t.Errorf("the first turn was in %+v, the second in %+v", first, second)
	}
	r.asksAndMay()
	r.daemon.kill()
	r.start()
	r.says("what did I say first", "You first said: hello, agent")
	waitFor(t, "the dead daemon's agent to be stopped", func() string { return r.must("delegations", "--all") }, func() bool { return len(processesWith("/"+first.Handle)) == 0 })
	r.isKilled("live")
	r.says("what did I say first", "You first said: hello, agent")
	r.must("kill", r.onlyRun().Handle) // between turns: it simply goes
	r.says("what did I say first", "You first said: hello, agent")
	r.end()
}

// asksAndMay is the owner's authority: what the agent asked for has run, in chat and in a delegation.
func (r *real) asksAndMay() {
	r.t.Helper()
	made := filepath.Join(r.work, "made.txt")
	r.says("run: echo by the agent > made.txt; cat made.txt", "It printed: ")
	got := r.scv("delegate", "live", "run: echo again >> made.txt")
	if got.code != 0 || !strings.Contains(got.out, "It printed: ") || !strings.Contains(got.errOut, "echo again >> made.txt") {
		r.t.Errorf("scv delegate: %+v", got)
	}
	if b, err := os.ReadFile(made); err != nil || string(b) != "by the agent\nagain\n" {
		r.t.Errorf("the commands of the agent left %q, %v", b, err)
	}
}

// liveRun is what this test reads of a run.
type liveRun struct {
	Handle string `json:"handle"`
	PID    int    `json:"pid"`
	Turn   int    `json:"turn"`
	Idle   int64  `json:"idle_since_unix_seconds"`
}

func (r *real) onlyRun() liveRun {
	r.t.Helper()
	var list struct {
		Entries []liveRun `json:"entries"`
	}
	if err := json.Unmarshal([]byte(r.must("delegations", "--json")), &list); err != nil || len(list.Entries) != 1 {
		r.t.Fatalf("runs %+v, %v", list, err)
	}
	return list.Entries[0]
}
