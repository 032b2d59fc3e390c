package agent

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// codex is Codex, run as `codex exec`. It has no mode without tools: in a read-only sandbox it still reads.
type codex struct{}

func (codex) args(t Task, configured, _ []string) []string {
	args := []string{"exec", "--json", "--skip-git-repo-check"}
	// Nobody can be asked, so it never asks. What its sandbox refuses it is told, and tells.
	if !hasAny(configured, "--sandbox", "-s", "--dangerously-bypass-approvals-and-sandbox", "--approve-for-me") {
		args = append(args, "--sandbox", "workspace-write")
	}
	args = append(args, mayWrite(t.Outbox, configured)...)
	if t.Session != "" {
		args = append(args, "resume", t.Session)
	}
	return append(args, "-") // the prompt comes by stdin
}

// mayWrite lets the sandbox write to the outbox. It takes the place of a list in Codex's own config.toml, for
// which there is no way to add to it; one in the agent's command holds instead.
func mayWrite(outbox string, configured []string) []string {
	named := func(arg string) bool { return strings.Contains(arg, "writable_roots") }
	if outbox == "" || slices.ContainsFunc(configured, named) {
		return nil
	}
	quoted, err := jsontext.AppendQuote(nil, outbox) // a string of TOML too
	if err != nil {
		return nil
	}
	return []string{"-c", "sandbox_workspace_write.writable_roots=[" + string(quoted) + "]"}
}

// codexEvent is a line of `codex exec --json`.
type codexEvent struct {
	Type     string `json:"type"`
	ThreadID string `json:"thread_id"`
	Message  string `json:"message"`
	Error    struct {
		Message string `json:"message"`
	} `json:"error"`
	Item struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Command string `json:"command"`
		Query   string `json:"query"`
		Server  string `json:"server"`
		Tool    string `json:"tool"`
		Changes []struct {
			Path string `json:"path"`
		} `json:"changes"`
	} `json:"item"`
}

func (codex) fold(s *said, line []byte) bool {
	var e codexEvent
	if !readJSON(line, &e) {
		return false
	}
	switch e.Type {
	case "thread.started":
		s.Session = e.ThreadID
	case "item.completed":
		if e.Item.Type == "agent_message" { // items of the type error are only warnings
			s.answers(e.Item.Text)
		}
	case "error": // it may try again, so this is no failure yet
		s.explains(e.Message)
	case "turn.failed":
		s.fails(e.Error.Message)
	case "turn.completed":
		s.Why = ""
	default:
		return e.Type == "turn.started" || e.Type == "item.started" || e.Type == "item.updated"
	}
	return true
}

func (codex) does(line []byte) string {
	var e codexEvent
	if !readJSON(line, &e) {
		return ""
	}
	started := e.Type == "item.started"
	switch {
	case e.Type == "error": // it tries again
		return oneLine("", e.Message)
	case e.Item.Type == "command_execution" && started:
		return oneLine("runs: ", withoutShell(e.Item.Command))
	case e.Item.Type == "mcp_tool_call" && started:
		return oneLine("uses: ", e.Item.Server+" "+e.Item.Tool)
	case e.Item.Type == "web_search" && !started && e.Item.Query != "":
		return oneLine("searches: ", e.Item.Query)
	case e.Item.Type == "file_change" && !started:
		var paths []string
		for _, c := range e.Item.Changes {
			paths = append(paths, c.Path)
		}
		return oneLine("changes: ", strings.Join(paths, " "))
	}
	return ""
}

// withoutShell is the line that a shell was called with, as /bin/bash -lc 'line'.
func withoutShell(command string) string {
	_, line, ok := strings.Cut(command, " -lc ")
	if !ok {
		return command
	}
	if n := len(line); n > 1 && line[0] == line[n-1] && (line[0] == '\'' || line[0] == '"') {
		return line[1 : n-1]
	}
	return line
}

func (codex) forgot(errs []byte) bool {
	return bytes.Contains(errs, []byte("no rollout found for thread id"))
}
