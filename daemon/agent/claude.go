package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// claude is Claude Code, run as `claude -p`. It is the one program with a proven mode without tools;
// `make test-agents` holds the proof.
type claude struct{ root bool }

// claudeTools is what the owner's grant allows where every check cannot be skipped.
const claudeTools = "Bash,Edit,Write,NotebookEdit,Read,Glob,Grep,WebFetch,WebSearch,Task,Skill"

func (c claude) args(t Task, configured, env []string) []string {
	args := claudeTurn(t.Session)
	for _, folder := range t.folders() {
		args = append(args, "--add-dir="+folder) // in one word: what follows would be taken for more folders
	}
	switch {
	case hasAny(configured, "--permission-mode", "--dangerously-skip-permissions", "--allowedTools", "--allowed-tools"):
		return args // the owner's own choice
	case c.root && !slices.Contains(env, "IS_SANDBOX=1"):
		// To root it refuses to skip its checks, unless somebody says that this is a sandbox. That is not
		// ours to say.
		return append(args, "--permission-mode", "acceptEdits", "--allowedTools="+claudeTools)
	}
	return append(args, "--permission-mode", "bypassPermissions")
}

// claudeTurn is one turn with the prompt by stdin.
func claudeTurn(session string) []string {
	args := []string{"-p", "--output-format", "stream-json", "--verbose"}
	if session != "" {
		args = append(args, "--resume", session)
	}
	return args
}

// claudeHarmless are the configured options that the mode without tools keeps: its proof does not depend on them.
var claudeHarmless = []string{
	"--model", "--fallback-model", "--effort", "--system-prompt", "--append-system-prompt", "--max-budget-usd",
}

// withoutTools offers the model no tool, and takes from the program what it would do by itself: expand
// @path in the text, obey /command, read settings, memories and the folder it is in.
func (claude) withoutTools(t Task, run *Run) error {
	folder, err := emptyFolder(t.Env["SCV_HOME"])
	if err != nil {
		return err
	}
	run.Dir = folder
	run.Args = append(harmless(run.Args), claudeTurn(t.Session)...)
	run.Args = append(run.Args,
		"--tools", "", "--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands",
		"--settings", `{"permissions":{"deny":["Read(//**)"]},"autoMemoryEnabled":false}`)
	run.Stdin = disarm(run.Stdin)
	return nil
}

// harmless leaves of configured options those that are known and their values.
func harmless(configured []string) (kept []string) {
	for i, o := range configured {
		name, _, joined := strings.Cut(o, "=")
		switch {
		case !slices.Contains(claudeHarmless, name):
		case joined:
			kept = append(kept, o)
		case i+1 < len(configured):
			kept = append(kept, o, configured[i+1])
		}
	}
	return kept
}

// zeroWidth is seen by nobody and ends a word.
const zeroWidth = "\u200b"

// disarm makes a text mean nothing to the program: @ is no path, and / ! # at its beginning no command.
func disarm(text string) string {
	text = strings.ReplaceAll(text, "@", "@"+zeroWidth)
	if head := strings.TrimLeft(text, " \t\r\n"); head != "" && strings.ContainsRune("/!#", rune(head[0])) {
		return zeroWidth + head
	}
	return text
}

// emptyName is the folder of a home in which agents without tools stand.
const emptyName = "empty"

// emptyFolder makes sure of a folder with nothing in it: what lies in it would be read.
func emptyFolder(home string) (string, error) {
	if home == "" {
		return "", errors.New("its empty folder has no home")
	}
	folder := filepath.Join(home, emptyName)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("cannot make an empty folder for it: %w", err)
	}
	names, err := os.ReadDir(folder)
	if err != nil {
		return "", fmt.Errorf("cannot look into its empty folder: %w", err)
	}
	if len(names) > 0 {
		return "", fmt.Errorf("its empty folder is not empty: move away what lies in %s", folder)
	}
	return folder, nil
}

// claudeEvent is a line of --output-format stream-json.
type claudeEvent struct {
	Type      string         `json:"type"`
	Subtype   string         `json:"subtype"`
	SessionID string         `json:"session_id"`
	Result    string         `json:"result"`
	IsError   bool           `json:"is_error"`
	Errors    []string       `json:"errors"`
	Message   jsontext.Value `json:"message"` // an object where the type is assistant
}

func (claude) fold(s *said, line []byte) bool {
	var e claudeEvent
	if !readJSON(line, &e) || e.Type == "" {
		return false
	}
	switch e.Type {
	case "system":
		if e.Subtype == "init" {
			s.Session = e.SessionID
		}
	case "result":
		s.Session = e.SessionID
		s.result(e)
	}
	return true
}

// result is the end of a turn. Work in the background can lead to several; the last one counts.
func (s *said) result(e claudeEvent) {
	s.Failed, s.Why = false, ""
	if !e.IsError && e.Subtype == "success" {
		s.answers(e.Result)
		return
	}
	why := strings.Join(append(e.Errors, e.Result), "\n")
	s.fails(why)
	s.Lost = strings.Contains(why, "No conversation found with session ID")
}

// claudeBlock is a part of what the model said.
type claudeBlock struct {
	Type  string    `json:"type"`
	Name  string    `json:"name"`
	Input toolInput `json:"input"`
}

func (claude) does(line []byte) string {
	var e claudeEvent
	switch {
	case !readJSON(line, &e):
		return ""
	case e.Subtype == "api_retry":
		return oneLine("has no answer from its model and tries again", "")
	case e.Type != "assistant":
		return ""
	}
	var message struct {
		Content []claudeBlock `json:"content"`
	}
	if !readJSON(e.Message, &message) {
		return ""
	}
	for _, b := range message.Content {
		if b.Type == "tool_use" {
			return b.Input.progress(b.Name)
		}
	}
	return ""
}

// forgot is never asked for more: it says so on its standard output.
func (claude) forgot([]byte) bool { return false }
