package agent

import (
	"bytes"
	"cmp"
)

// opencode is OpenCode. Without a terminal it takes its standard input as the prompt. It has no mode
// without tools, and its conversations belong to the folder they were begun in: elsewhere it waits for
// ever for an answer that it does not hear.
type opencode struct{}

func (opencode) args(t Task, configured, _ []string) []string {
	args := []string{"run", "--format", "json"}
	if !hasAny(configured, "--auto") {
		args = append(args, "--auto") // nobody can be asked
	}
	if t.Session != "" {
		args = append(args, "--session", t.Session)
	}
	return args
}

// opencodeEvent is a line of --format json.
type opencodeEvent struct {
	Type      string `json:"type"`
	SessionID string `json:"sessionID"`
	Part      struct {
		Text  string `json:"text"`
		Tool  string `json:"tool"`
		State struct {
			Input toolInput `json:"input"`
		} `json:"state"`
	} `json:"part"`
	Error struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
		} `json:"data"`
	} `json:"error"`
}

func (opencode) fold(s *said, line []byte) bool {
	var e opencodeEvent
	if !readJSON(line, &e) || e.SessionID == "" {
		return false
	}
	s.Session = e.SessionID
	switch e.Type {
	case "step_start": // what it said before was not yet the answer
		s.apart = true
	case "text":
		if s.Text != "" && !s.apart {
			s.adds("\n\n")
		}
		s.adds(e.Part.Text)
	case "error":
		s.fails(cmp.Or(e.Error.Data.Message, e.Error.Name))
	}
	return true
}

func (opencode) does(line []byte) string {
	var e opencodeEvent
	if !readJSON(line, &e) || e.Type != "tool_use" {
		return ""
	}
	return e.Part.State.Input.progress(e.Part.Tool)
}

func (opencode) forgot(errs []byte) bool { return bytes.Contains(errs, []byte("Session not found")) }
