package agent

import (
	"cmp"
	"context"
	"io"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// dial begins to speak. The library calls back with its parameters as a type of the standard library's JSON,
// which nothing of ours imports: R is that type, and never has to be named.
func dial[R ~[]byte, H ~func(context.Context, string, R) (any, *acp.RequestError), C any](
	s *acpSession, connect func(H, io.Writer, io.Reader) C,
) C {
	return connect(func(_ context.Context, method string, params R) (any, *acp.RequestError) {
		defer s.gate.note(&s.gate.handled)
		return s.handle(method, params)
	}, s.gate, s.gate)
}

// jobsMethod is our own extension: a nested SCV tells how much still runs for it.
const jobsMethod = "_scv/background_jobs"

// handle is everything that an agent may say or ask. Files and terminals are among the rest: refused.
func (s *acpSession) handle(method string, params []byte) (any, *acp.RequestError) {
	switch method {
	case acp.ClientMethodSessionUpdate:
		var update acpUpdate
		if acpRead(params, &update) == nil && update.SessionID == s.ID() {
			s.turn.add(update)
		}
		return nil, nil
	case acp.ClientMethodSessionRequestPermission:
		var question struct {
			Options []acp.PermissionOption `json:"options"`
		}
		if acpRead(params, &question) != nil {
			return nil, acp.NewInvalidParams(nil)
		}
		return acp.RequestPermissionResponse{Outcome: s.turn.decide(question.Options)}, nil
	case jobsMethod:
		var jobs struct {
			Count uint32 `json:"count"`
		}
		if s.agent.nested && acpRead(params, &jobs) == nil {
			s.jobs.Store(jobs.Count)
		}
		return nil, nil
	default:
		return nil, acp.NewMethodNotFound(method)
	}
}

// acpUpdate is what we read of a session/update.
type acpUpdate struct {
	SessionID string `json:"sessionId"`
	Update    struct {
		Kind    string         `json:"sessionUpdate"`
		Content jsontext.Value `json:"content"` // an object or a list, as the kind wants it
		Message string         `json:"messageId"`
		Tool    string         `json:"toolCallId"`
		Title   string         `json:"title"`
		Status  string         `json:"status"`
	} `json:"update"`
}

func acpRead(data []byte, into any) error {
	return json.Unmarshal(data, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// acpTurn is what an agent says in the turn that runs. Between turns it hears nothing and grants nothing.
type acpTurn struct {
	mu      sync.Mutex
	active  bool
	granted bool // the owner's tools: what the agent asks for is allowed
	lines   chan string

	text    strings.Builder
	cut     bool              // the reply is longer
	between bool              // something else came since the last text
	message string            // that the last text is of, "" where the agent does not say
	titles  map[string]string // of the tools it uses
}

// begin begins a turn. What it tells meanwhile comes by the channel, which nobody waits for.
func (t *acpTurn) begin(granted bool) <-chan string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active, t.granted, t.cut, t.between, t.message = true, granted, false, false, ""
	t.titles = map[string]string{}
	t.text.Reset()
	t.lines = make(chan string, 64)
	return t.lines
}

// cancel takes back what was granted.
func (t *acpTurn) cancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active = false
}

// finish ends a turn and gives what was said.
func (t *acpTurn) finish() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active = false
	close(t.lines)
	text := Clean(t.text.String())
	if len(text) <= acpReply && !t.cut {
		return text
	}
	text = text[:min(len(text), acpReply-len(acpCut))]
	return strings.TrimRight(strings.ToValidUTF8(text, ""), "\uFFFD") + acpCut
}

func (t *acpTurn) add(u acpUpdate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.active {
		return
	}
	switch u.Update.Kind {
	case "agent_message_chunk":
		var content struct {
			Text string `json:"text"`
		}
		if acpRead(u.Update.Content, &content) == nil {
			t.between = t.between || t.message != u.Update.Message
			t.message = u.Update.Message
			t.say(content.Text)
		}
	case "tool_call":
		t.between = true
		t.note(u.Update.Tool, u.Update.Title)
		t.tell(u.Update.Title)
	case "tool_call_update":
		t.between = true
		t.note(u.Update.Tool, u.Update.Title)
		if u.Update.Status == string(acp.ToolCallStatusFailed) {
			t.tell(cmp.Or(t.titles[u.Update.Tool], "a tool") + acpFailed)
		}
	case "agent_thought_chunk", "plan", "available_commands_update", "current_mode_update":
		t.between = true // not so what tells of the tokens used, which may come in the middle of a word
	}
}

// note remembers what a tool is called.
func (t *acpTurn) note(tool, title string) {
	if title != "" && len(t.titles) < acpTitles {
		t.titles[tool] = short(title, acpProgress-len(acpFailed))
	}
}

// say adds to the reply. What is said before and after something else are paragraphs of their own.
func (t *acpTurn) say(text string) {
	if t.between && t.text.Len() > 0 && text != "" {
		text = "\n\n" + text
	}
	t.between = t.between && text == ""
	if room := 2*acpReply - t.text.Len(); len(text) > room { // cleaning takes away what nobody sees
		text, t.cut = text[:max(room, 0)], true
	}
	t.text.WriteString(text)
}

// tell passes a line of progress on, unless nobody keeps up with them.
func (t *acpTurn) tell(line string) {
	if line = short(line, acpProgress); line == "" {
		return
	}
	select {
	case t.lines <- line:
	default:
	}
}

// short makes one line of a text, of so many bytes at most.
func short(text string, most int) string {
	text = Clean(strings.Join(strings.Fields(text), " "))
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

const acpFailed = " (failed)"

// decide answers a request for permission: yes for the turn of the owner who granted tools, this once if
// that can be said; no for everybody else.
func (t *acpTurn) decide(options []acp.PermissionOption) acp.RequestPermissionOutcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	wanted := []acp.PermissionOptionKind{acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways}
	if t.active && t.granted {
		wanted = []acp.PermissionOptionKind{acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways}
	}
	for _, kind := range wanted {
		for _, option := range options {
			if option.Kind == kind {
				return acp.NewRequestPermissionOutcomeSelected(option.OptionId)
			}
		}
	}
	return acp.NewRequestPermissionOutcomeCancelled()
}
