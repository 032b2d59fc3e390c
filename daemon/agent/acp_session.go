package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coder/acp-go-sdk"
)

// acpSession is a conversation with an agent that speaks the protocol.
type acpSession struct {
	agent *acpAgent
	gate  *acpGate
	conn  *acp.Connection
	turn  acpTurn
	jobs  atomic.Uint32
	busy  atomic.Bool // in a turn

	mu     sync.Mutex
	id     string
	why    error // it is over
	over   chan struct{}
	forgot bool // the reply to come begins a conversation that should have gone on
}

func newACPSession(a *acpAgent, stdin io.Writer, stdout io.Reader) *acpSession {
	s := &acpSession{agent: a, over: make(chan struct{})}
	ready := make(chan struct{})
	s.gate = newACPGate(&held{stdout, ready}, stdin, a.limits.writing, s.over, s.end)
	s.conn = dial(s, acp.NewConnection)
	s.conn.SetLogger(slog.New(slog.DiscardHandler)) // it would log what the agent says
	close(ready)
	return s
}

// held holds a stream back until all is ready.
type held struct {
	io.Reader
	ready <-chan struct{}
}

func (h *held) Read(p []byte) (int, error) {
	<-h.ready
	return h.Reader.Read(p)
}

// ID is the agent's own name of the conversation.
func (s *acpSession) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// BackgroundJobs is what the agent said last.
func (s *acpSession) BackgroundJobs() uint32 { return s.jobs.Load() }

// Done is closed when the agent has ended or broken the protocol.
func (s *acpSession) Done() <-chan struct{} { return s.over }

// end ends the session for good. The first reason stands.
func (s *acpSession) end(why error) {
	s.mu.Lock()
	if s.why == nil {
		s.why = why
		close(s.over)
	}
	s.mu.Unlock()
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.gate.changed.Broadcast()
}

func (s *acpSession) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// answered is how a request ended.
type answered[T any] struct {
	result T
	err    error
}

// ask sends a request. The library is given no context: at its end it would send the agent a notification
// that version 1 of the protocol does not have, and a write to an agent that does not read heeds none.
func ask[T any](s *acpSession, method string, params any) <-chan answered[T] {
	got := make(chan answered[T], 1)
	s.gate.note(&s.gate.sent)
	go func() {
		result, err := acp.SendRequest[T](s.conn, context.Background(), method, params)
		got <- answered[T]{result, s.explain(err)}
		s.gate.note(&s.gate.taken)
	}()
	return got
}

// explain tells a refusal by the agent from its end.
func (s *acpSession) explain(err error) error {
	refusal, ok := errors.AsType[*acp.RequestError](err)
	switch {
	case err == nil:
		return nil
	case !ok || s.ended() != nil:
		return cmp.Or(s.ended(), errACPEnded)
	}
	return acpRefusal(refusal)
}

// await waits for the answer as long as ctx and the agent last.
func await[T any](ctx context.Context, s *acpSession, got <-chan answered[T]) (T, error) {
	select {
	case a := <-got:
		return a.result, a.err
	default:
	}
	var none T
	select {
	case a := <-got:
		return a.result, a.err
	case <-s.over:
		return none, s.ended()
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

func call[T any](ctx context.Context, s *acpSession, method string, params any) (T, error) {
	return await(ctx, s, ask[T](s, method, params))
}

// What we read of an agent's answers. The library's own types read all of them, and fail on a part that its
// release does not know.
type (
	acpHello struct {
		ProtocolVersion   int `json:"protocolVersion"`
		AgentCapabilities struct {
			LoadSession         bool `json:"loadSession"`
			SessionCapabilities struct {
				Resume *struct{} `json:"resume"`
			} `json:"sessionCapabilities"`
		} `json:"agentCapabilities"`
	}
	acpBegun struct {
		SessionID string `json:"sessionId"`
	}
	acpStopped struct {
		StopReason acp.StopReason `json:"stopReason"`
	}
)

// open begins the conversation, or takes up the earlier one.
func (s *acpSession) open(ctx context.Context, t Task) error {
	hello, err := call[acpHello](ctx, s, acp.AgentMethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, // and none of the capabilities a client may have
	})
	if err != nil {
		return err
	}
	if hello.ProtocolVersion != acp.ProtocolVersionNumber {
		return fmt.Errorf("it speaks version %d of the Agent Client Protocol, and SCV speaks version %d",
			hello.ProtocolVersion, acp.ProtocolVersionNumber)
	}
	if t.Session != "" {
		resumed, err := s.resume(ctx, hello, t)
		if resumed || err != nil {
			return err
		}
		s.forgot = true
	}
	begun, err := call[acpBegun](ctx, s, acp.AgentMethodSessionNew, acp.NewSessionRequest{
		Cwd: t.Workspace, McpServers: []acp.McpServer{},
	})
	if err == nil && begun.SessionID == "" {
		err = errACPNoID
	}
	if err != nil {
		return err
	}
	s.named(begun.SessionID)
	return nil
}

func (s *acpSession) named(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = id
}

// resume takes up an earlier conversation; not resumed, without an error: the agent cannot. One that can
// resume need not repeat it all to us, as one that loads it does.
func (s *acpSession) resume(ctx context.Context, hello acpHello, t Task) (resumed bool, err error) {
	id := acp.SessionId(t.Session)
	switch can := hello.AgentCapabilities; {
	case can.SessionCapabilities.Resume != nil:
		_, err = call[struct{}](ctx, s, acp.AgentMethodSessionResume, acp.ResumeSessionRequest{
			Cwd: t.Workspace, McpServers: []acp.McpServer{}, SessionId: id,
		})
	case can.LoadSession:
		_, err = call[struct{}](ctx, s, acp.AgentMethodSessionLoad, acp.LoadSessionRequest{
			Cwd: t.Workspace, McpServers: []acp.McpServer{}, SessionId: id,
		})
	default:
		return false, nil
	}
	if _, refused := errors.AsType[*SaidError](err); refused && !errors.Is(err, errACPLogin) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.named(t.Session)
	return true, nil
}

// Turn gives the agent its task and gathers what it says until it has ended the turn.
func (s *acpSession) Turn(ctx context.Context, t Task, progress func(string)) (Reply, error) {
	if !s.busy.CompareAndSwap(false, true) {
		return Reply{}, s.agent.wrong(errACPBusy)
	}
	defer s.busy.Store(false)
	lines := s.turn.begin(t.Tools && t.Owner)
	told := make(chan struct{})
	go func() {
		defer close(told)
		for line := range lines {
			progress(line)
		}
	}()
	stop, err := s.prompt(ctx, t.Prompt)
	text := s.turn.finish()
	<-told
	if err == nil {
		text, err = s.judge(stop, text)
	}
	if err != nil {
		return Reply{Session: s.ID()}, s.agent.wrong(err)
	}
	return Reply{Text: text, Session: s.ID()}, nil
}

func (s *acpSession) prompt(ctx context.Context, text string) (acp.StopReason, error) {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	got := ask[acpStopped](s, acp.AgentMethodSessionPrompt, acp.PromptRequest{
		SessionId: acp.SessionId(s.ID()), Prompt: []acp.ContentBlock{acp.TextBlock(text)},
	})
	answer, err := await(ctx, s, got)
	if err != nil && ctx.Err() != nil && s.ended() == nil {
		s.cancel(got)
	}
	return answer.StopReason, err
}

// cancel tells the agent to end its turn. One that does not is of no more use.
func (s *acpSession) cancel(got <-chan answered[acpStopped]) {
	s.turn.cancel()
	s.gate.note(&s.gate.sent)
	go func() { // it may not read
		_ = s.conn.SendNotification(context.Background(), acp.AgentMethodSessionCancel,
			acp.CancelNotification{SessionId: acp.SessionId(s.ID())})
	}()
	ctx, stop := context.WithTimeoutCause(context.Background(), s.agent.limits.cancelling, errACPStuck)
	defer stop()
	if _, err := await(ctx, s, got); errors.Is(err, errACPStuck) {
		s.end(errACPStuck)
	}
}

// judge makes a reply of what was said and why it ended.
func (s *acpSession) judge(stop acp.StopReason, text string) (string, error) {
	more, none := "", ErrNoAnswer
	switch stop {
	case acp.StopReasonRefusal:
		return "", errACPRefused
	case acp.StopReasonMaxTokens:
		more, none = acpOutTokens, errACPTokens
	case acp.StopReasonMaxTurnRequests:
		more, none = acpOutSteps, errACPSteps
	}
	if text == "" {
		return "", none
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forgot {
		s.forgot = false
		text = acpForgot + text
	}
	return text + more, nil
}
