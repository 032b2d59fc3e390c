package agent

import "bytes"

// gemini is the Gemini CLI. Without a terminal it takes its standard input as the prompt. It has no mode
// without tools, and its conversations belong to the folder they were begun in.
type gemini struct{}

func (gemini) args(t Task, configured, _ []string) []string {
	args := []string{"--output-format", "stream-json"}
	if !hasAny(configured, "--approval-mode", "--yolo", "-y") {
		args = append(args, "--approval-mode", "yolo") // nobody can be asked
	}
	if !hasAny(configured, "--skip-trust") {
		args = append(args, "--skip-trust") // the folder is the owner's choice
	}
	for _, folder := range t.folders() { // its tools for files stay in folders that it knows
		args = append(args, "--include-directories="+folder)
	}
	if t.Session != "" {
		args = append(args, "--resume", t.Session)
	}
	return args
}

// geminiEvent is a line of --output-format stream-json.
type geminiEvent struct {
	Type       string    `json:"type"`
	SessionID  string    `json:"session_id"`
	Role       string    `json:"role"`
	Content    string    `json:"content"`
	Status     string    `json:"status"`
	ToolName   string    `json:"tool_name"`
	Parameters toolInput `json:"parameters"`
	Error      struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (gemini) fold(s *said, line []byte) bool {
	var e geminiEvent
	if !readJSON(line, &e) {
		return false
	}
	switch e.Type {
	case "init":
		s.Session = e.SessionID
	case "tool_use": // what it said before was not yet the answer
		s.apart = true
	case "message":
		if e.Role == "assistant" {
			s.adds(e.Content)
		}
	case "result":
		if e.Status != "success" {
			s.fails(e.Error.Message)
		}
	default:
		return e.Type == "tool_result"
	}
	return true
}

func (gemini) does(line []byte) string {
	var e geminiEvent
	if !readJSON(line, &e) || e.Type != "tool_use" {
		return ""
	}
	return e.Parameters.progress(e.ToolName)
}

func (gemini) forgot(errs []byte) bool {
	return bytes.Contains(errs, []byte("Invalid session identifier"))
}
