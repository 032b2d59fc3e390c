// Package fakemodel is a model server for the tests of real agents: it speaks OpenAI's Responses API,
// Anthropic's Messages API and Gemini's generateContent as far as their command-line agents need it, and
// keeps what it was asked. What it answers depends on the words of the last message alone; see decide. It
// opens no socket and starts nothing: a test hands it to net/http/httptest.
package fakemodel

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// maxBody bounds one request; a real one of an agent with all its tools is some 100 KiB.
const maxBody = 16 << 20

// Request is one question as it came.
type Request struct {
	Path  string
	Body  string
	Tools []string // names of the tools it offers; one without a name counts by its type
	Texts []string // what the person wrote, oldest first; what agents put around it left out
}

// Server answers as a model would. Its zero value is ready.
type Server struct {
	mu   sync.Mutex
	seen []Request
}

// Requests is everything that was asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

// Heard reports whether any request so far held the text.
func (s *Server) Heard(text string) bool {
	for _, r := range s.Requests() {
		if strings.Contains(r.Body, text) {
			return true
		}
	}
	return false
}

// ServeHTTP answers the calls of the three languages, and everything else with an empty object.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		http.Error(w, "cannot read the request", http.StatusBadRequest)
		return
	}
	language := languageOf(r)
	if language == nil {
		s.keep(Request{Path: r.URL.Path, Body: string(body)})
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
		return
	}
	asked, err := language.read(body)
	if err != nil {
		s.keep(Request{Path: r.URL.Path, Body: string(body)})
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	number := s.keep(Request{Path: r.URL.Path, Body: string(body), Tools: asked.tools, Texts: asked.texts})
	if refused(r) {
		http.Error(w, language.refusal, http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if !asked.stream {
		w.Header().Set("Content-Type", "application/json")
	}
	reply := decide(asked)
	reply.id = fmt.Sprint("call_", number) // agents take the same id for the same call
	_, _ = io.WriteString(w, language.write(asked, reply))
}

// keep returns the number of the request.
func (s *Server) keep(r Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r)
	return len(s.seen)
}

// language is one way of asking a model.
type language struct {
	read    func(body []byte) (question, error)
	write   func(question, answer) string
	refusal string // to a key that is not valid
}

// BadKey is the one key that is refused.
const BadKey = "bad-key"

func refused(r *http.Request) bool {
	for _, header := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
		if strings.HasSuffix(r.Header.Get(header), BadKey) {
			return true
		}
	}
	return false
}

func languageOf(r *http.Request) *language {
	switch {
	case r.Method != http.MethodPost:
		return nil
	case strings.HasSuffix(r.URL.Path, "/responses"):
		return &language{readResponses, writeResponses, `{"error":{"message":"invalid key","type":"invalid_request_error","code":"invalid_api_key"}}`}
	case strings.HasSuffix(r.URL.Path, "/messages"):
		return &language{readMessages, writeMessages, `{"type":"error","error":{"type":"authentication_error","message":"invalid key"}}`}
	case strings.Contains(r.URL.Path, ":streamGenerateContent"), strings.HasSuffix(r.URL.Path, ":generateContent"):
		streams := strings.Contains(r.URL.Path, ":stream")
		read := func(body []byte) (question, error) { return readContents(body, streams) }
		return &language{read, writeContents, `{"error":{"code":401,"message":"invalid key","status":"UNAUTHENTICATED"}}`}
	}
	return nil
}

// question is what an agent wants to know, whatever its language.
type question struct {
	stream bool
	tools  []string
	texts  []string
	result *string // what the tool call that was just made gave
}

// answer is words, or the call of a tool that runs a line of shell.
type answer struct {
	text string
	tool string
	line string
	id   string // of the call
}

// shells are the tools that run a line of shell, and how each wants it.
var shells = map[string]func(line string) map[string]any{
	"Bash":              func(line string) map[string]any { return map[string]any{"command": line, "description": "a test"} },
	"bash":              func(line string) map[string]any { return map[string]any{"command": line, "description": "a test"} },
	"run_shell_command": func(line string) map[string]any { return map[string]any{"command": line, "description": "a test"} },
	"exec_command":      func(line string) map[string]any { return map[string]any{"cmd": line} },
	"shell_command":     func(line string) map[string]any { return map[string]any{"command": line} },
	"shell":             func(line string) map[string]any { return map[string]any{"command": []string{"sh", "-c", line}} },
}

// decide answers from the words of a question:
//
//   - after the call of a tool: "It printed: " and its result
//   - "run: LINE" with a tool that runs shell: a call of it with LINE
//   - "what did I say first": "You first said: " and the first message
//   - anything else: "You said: " and the message
func decide(q question) answer {
	if q.result != nil {
		return answer{text: "It printed: " + *q.result}
	}
	if len(q.texts) == 0 {
		return answer{text: "You said nothing."}
	}
	last := q.texts[len(q.texts)-1]
	if _, line, ok := strings.Cut(last, "run: "); ok {
		for _, tool := range q.tools {
			if shells[tool] != nil {
				line, _, _ = strings.Cut(line, "\n")
				return answer{tool: tool, line: line}
			}
		}
	}
	if strings.Contains(last, "what did I say first") {
		return answer{text: "You first said: " + q.texts[0]}
	}
	return answer{text: "You said: " + last}
}

// wrote adds what the person wrote. What begins with a tag is what an agent put around it.
func (q *question) wrote(text string) {
	if text = strings.TrimSpace(text); text != "" && !strings.HasPrefix(text, "<") && !strings.HasPrefix(text, "# AGENTS.md") {
		q.texts = append(q.texts, text)
	}
}
