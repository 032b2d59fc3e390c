package testexe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"
)

// ACP is an agent that speaks the Agent Client Protocol on its standard streams until its input ends.
type ACP struct {
	Turns    [][]ACPStep // what it does in each turn; the last is for all further ones
	Sessions string      `json:",omitzero"` // folder where it keeps its conversations; "": it cannot take one up again
	Load     bool        `json:",omitzero"` // it takes one up by session/load, and repeats it, instead of session/resume
	NewFails bool        `json:",omitzero"` // it answers session/new with an error
	Version  int         `json:",omitzero"` // of the protocol it answers with; 0 is 1
}

// ACPStep is one thing that it does in a turn; exactly one of its fields is set. Without Stop, Fail or
// WaitCancel the turn ends well.
type ACPStep struct {
	Say        string   `json:",omitzero"`
	SayTimes   int      `json:",omitzero"` // "x\n" so often, each by itself
	SayBytes   int      `json:",omitzero"` // so many x at once
	Recall     bool     `json:",omitzero"` // says all prompts of the conversation, joined by |
	SayPID     bool     `json:",omitzero"`
	Tool       string   `json:",omitzero"`  // tells that it uses a tool, by its title
	ToolFails  bool     `json:",omitzero"`  // tells that the tool failed
	Ask        []string `json:",omitempty"` // asks for permission with options of these kinds, and says what was chosen
	Reach      bool     `json:",omitzero"`  // for files and terminals of the client, and says how often it got one
	Jobs       *uint32  `json:",omitzero"`  // tells so many background jobs
	Do         *Step    `json:",omitzero"`  // a step of an ordinary script
	WaitCancel bool     `json:",omitzero"`  // until it is cancelled, which ends the turn
	Stop       string   `json:",omitzero"`  // ends the turn for this reason
	Fail       string   `json:",omitzero"`  // ends it with an error of this text
}

// acpPeer is it at work.
type acpPeer struct {
	ACP
	program *program
	conn    *acp.AgentSideConnection

	mu      sync.Mutex
	prompts []string
	turns   int
	cancel  chan struct{} // closed when the turn is cancelled
}

// speak serves until the standard input ends.
func (p *program) speak(a ACP) error {
	peer := &acpPeer{ACP: a, program: p}
	ready := make(chan struct{})
	peer.conn = acp.NewAgentSideConnection(peer, os.Stdout, &late{os.Stdin, ready})
	peer.conn.SetLogger(slog.New(slog.DiscardHandler))
	close(ready)
	<-peer.conn.Done()
	return nil
}

// late holds the input back until all is ready.
type late struct {
	io.Reader
	ready <-chan struct{}
}

func (l *late) Read(p []byte) (int, error) {
	<-l.ready
	return l.Reader.Read(p)
}

func (p *acpPeer) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	r := acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersion(max(p.Version, 1)), AuthMethods: []acp.AuthMethod{}}
	if p.Sessions != "" && p.Load {
		r.AgentCapabilities.LoadSession = true
	} else if p.Sessions != "" {
		r.AgentCapabilities.SessionCapabilities.Resume = &acp.SessionResumeCapabilities{}
	}
	return r, nil
}

const acpSessionID = "session-" // and the pid of the process that began it

func (p *acpPeer) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if p.NewFails {
		return acp.NewSessionResponse{}, acp.NewAuthRequired(map[string]any{"details": "s3cret"})
	}
	return acp.NewSessionResponse{SessionId: acp.SessionId(fmt.Sprint(acpSessionID, os.Getpid()))}, nil
}

// remember reads what an earlier process of the same conversation was asked.
func (p *acpPeer) remember(id acp.SessionId) error {
	text, err := os.ReadFile(filepath.Join(p.Sessions, filepath.Base(string(id))))
	if err != nil {
		return acp.NewInvalidParams(map[string]any{"error": "no such session"})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prompts = strings.Split(string(text), "\n")
	return nil
}

func (p *acpPeer) ResumeSession(_ context.Context, r acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, p.remember(r.SessionId)
}

func (p *acpPeer) LoadSession(ctx context.Context, r acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	err := p.remember(r.SessionId)
	for _, prompt := range p.prompts {
		err = errors.Join(err, p.update(ctx, r.SessionId, acp.UpdateUserMessageText(prompt)),
			p.update(ctx, r.SessionId, acp.UpdateAgentMessageText("said before")))
	}
	return acp.LoadSessionResponse{}, err
}

func (p *acpPeer) update(ctx context.Context, id acp.SessionId, u acp.SessionUpdate) error {
	return p.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: id, Update: u})
}

func (p *acpPeer) Cancel(context.Context, acp.CancelNotification) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel != nil {
		close(p.cancel)
		p.cancel = nil
	}
	return nil
}

// hear notes a prompt, for this process and for later ones.
func (p *acpPeer) hear(r acp.PromptRequest) (steps []ACPStep, cancelled <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, block := range r.Prompt {
		if block.Text != nil {
			p.prompts = append(p.prompts, block.Text.Text)
		}
	}
	if p.Sessions != "" {
		err = writeWhole(filepath.Join(p.Sessions, filepath.Base(string(r.SessionId))), strings.Join(p.prompts, "\n"))
	}
	p.cancel = make(chan struct{})
	p.turns++
	if len(p.Turns) == 0 {
		return nil, p.cancel, err
	}
	return p.Turns[min(p.turns, len(p.Turns))-1], p.cancel, err
}

func (p *acpPeer) Prompt(_ context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	steps, cancelled, err := p.hear(r)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	ctx := context.Background() // a cancelled turn is ended in order
	for _, s := range steps {
		stop, err := p.step(ctx, r.SessionId, s, cancelled)
		if err != nil || stop != "" {
			return acp.PromptResponse{StopReason: stop}, err
		}
	}
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// step does one thing; a reason ends the turn.
func (p *acpPeer) step(ctx context.Context, id acp.SessionId, s ACPStep, cancelled <-chan struct{}) (acp.StopReason, error) {
	say := func(text string) error { return p.update(ctx, id, acp.UpdateAgentMessageText(text)) }
	switch {
	case s.Say != "":
		return "", say(s.Say)
	case s.SayTimes > 0:
		for range s.SayTimes {
			if err := say("x\n"); err != nil {
				return "", err
			}
		}
	case s.SayBytes > 0:
		return "", say(strings.Repeat("x", s.SayBytes))
	case s.Recall:
		p.mu.Lock()
		all := strings.Join(p.prompts, "|")
		p.mu.Unlock()
		return "", say(all)
	case s.SayPID:
		return "", say(fmt.Sprint(os.Getpid()))
	case s.Tool != "":
		return "", p.update(ctx, id, acp.StartToolCall("call", s.Tool))
	case s.ToolFails:
		return "", p.update(ctx, id, acp.UpdateToolCall("call", acp.WithUpdateStatus(acp.ToolCallStatusFailed)))
	case s.Ask != nil:
		return "", say(p.ask(ctx, id, s.Ask))
	case s.Reach:
		return "", say(p.reach(ctx, id))
	case s.Jobs != nil:
		return "", p.conn.NotifyExtension(ctx, "_scv/background_jobs", map[string]any{"count": *s.Jobs})
	case s.Do != nil:
		return "", p.program.do(*s.Do)
	case s.WaitCancel:
		<-cancelled
		return acp.StopReasonCancelled, nil
	case s.Stop != "":
		return acp.StopReason(s.Stop), nil
	case s.Fail != "":
		return "", acp.NewInternalError(map[string]any{"details": s.Fail})
	}
	return "", nil
}

// ask asks for permission and tells the kind of what was chosen.
func (p *acpPeer) ask(ctx context.Context, id acp.SessionId, kinds []string) string {
	var options []acp.PermissionOption
	for _, kind := range kinds {
		options = append(options, acp.PermissionOption{Kind: acp.PermissionOptionKind(kind), Name: kind, OptionId: acp.PermissionOptionId("id of " + kind)})
	}
	r, err := p.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: id, Options: options, ToolCall: acp.ToolCallUpdate{ToolCallId: "call"},
	})
	switch {
	case err != nil:
		return err.Error()
	case r.Outcome.Selected != nil:
		return string(r.Outcome.Selected.OptionId)
	}
	return "cancelled"
}

func (p *acpPeer) reach(ctx context.Context, id acp.SessionId) string {
	got := 0
	for _, try := range []func() error{
		func() error {
			_, err := p.conn.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionId: id, Path: "/etc/passwd"})
			return err
		},
		func() error {
			_, err := p.conn.WriteTextFile(ctx, acp.WriteTextFileRequest{SessionId: id, Path: "/tmp/x", Content: "x"})
			return err
		},
		func() error {
			_, err := p.conn.CreateTerminal(ctx, acp.CreateTerminalRequest{SessionId: id, Command: "true"})
			return err
		},
	} {
		if try() == nil {
			got++
		}
	}
	return fmt.Sprint(got)
}

// What the protocol has besides, and no test needs.

func (p *acpPeer) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, acp.NewMethodNotFound("authenticate")
}

func (p *acpPeer) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, acp.NewMethodNotFound("session/close")
}

func (p *acpPeer) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound("session/list")
}

func (p *acpPeer) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound("session/set_config_option")
}

func (p *acpPeer) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, acp.NewMethodNotFound("session/set_mode")
}
