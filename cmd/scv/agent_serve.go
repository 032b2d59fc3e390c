package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"

	"scv/daemon/process"
	"scv/wire"
	"scv/wire/bus"
)

// agentCmd makes this SCV an agent of another one, which tells it tasks by the Agent Client Protocol.
type agentCmd struct{}

func (*agentCmd) Help() string {
	return "For driver = \"scv\" in the config.toml of another SCV. Each task is a message in the local chat of this home, " +
		"whose daemon is started if it does not run."
}

// Run serves until its input ends. A daemon that it had to start ends with it.
func (c *agentCmd) Run(a *app) error {
	quiet := *a
	quiet.stdout, quiet.stderr, quiet.watched = io.Discard, io.Discard, false // ours are the protocol's
	n := &nestedAgent{a: &quiet, procs: process.NewTable()}
	ready := make(chan struct{})
	n.conn = acp.NewAgentSideConnection(n, a.stdout, &heldInput{a.stdin, ready})
	n.conn.SetLogger(slog.New(slog.DiscardHandler)) // it would log what it cannot read
	close(ready)
	select {
	case <-n.conn.Done():
	case <-a.ctx.Done():
	}
	return n.end()
}

// heldInput holds the input back until all is ready.
type heldInput struct {
	io.Reader
	ready <-chan struct{}
}

func (h *heldInput) Read(p []byte) (int, error) {
	<-h.ready
	return h.Reader.Read(p)
}

// nestedAgent is the local chat of a home as an agent. It has one conversation, which is that chat.
type nestedAgent struct {
	a     *app
	conn  *acp.AgentSideConnection
	procs *process.Table
	tasks sync.WaitGroup
	stop  context.CancelFunc // of the tasks

	mu    sync.Mutex
	child *process.Child // the daemon, if it had to be started
	told  uint32         // background jobs
}

const (
	nestedSession = "local"          // the only conversation there is
	nestedPrefix  = "agent-"         // begins the ids of our messages
	nestedStart   = 30 * time.Second // for the daemon to answer
	nestedLook    = time.Second      // at what runs in the background
	nestedStop    = 10 * time.Second // for a daemon of ours to be gone
)

// Initialize says that a conversation can be taken up again: the chat remembers.
func (n *nestedAgent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	r := acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber, AuthMethods: []acp.AuthMethod{}}
	r.AgentCapabilities.SessionCapabilities.Resume = &acp.SessionResumeCapabilities{}
	r.AgentInfo = &acp.Implementation{Name: "scv", Version: thisBuild().Version}
	return r, nil
}

func (n *nestedAgent) NewSession(ctx context.Context, _ acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionId: nestedSession}, n.serve(ctx)
}

func (n *nestedAgent) ResumeSession(ctx context.Context, r acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	if r.SessionId != nestedSession {
		return acp.ResumeSessionResponse{}, acp.NewInvalidParams(map[string]any{"details": "there is no such conversation"})
	}
	return acp.ResumeSessionResponse{}, n.serve(ctx)
}

// serve has a daemon answer, and begins to tell of its background jobs.
func (n *nestedAgent) serve(ctx context.Context) error {
	if err := n.daemon(ctx); err != nil {
		return refusal(err)
	}
	if n.stop == nil {
		life, stop := context.WithCancel(n.a.ctx)
		n.stop = stop
		n.tasks.Go(func() { n.watch(life) })
	}
	return nil
}

// daemon finds the daemon of this home, or starts it as our child.
func (n *nestedAgent) daemon(ctx context.Context) error {
	err := n.answers()
	var told *failure
	if !errors.As(err, &told) || told.code != exitNoDaemon {
		return err
	}
	if err := n.start(); err != nil {
		return err
	}
	for until := time.Now().Add(nestedStart); ; {
		if err := n.answers(); err == nil || time.Now().After(until) || !pause(ctx, backPause) {
			return err
		}
		if !n.child.ID().Alive() {
			return failf(exitFailed, "", "the daemon of %s does not start; its log says why: %s", n.a.homeName(), n.a.command("logs"))
		}
	}
}

func (n *nestedAgent) answers() error {
	_, err := n.status(wire.StatusCommand{})
	return err
}

func (n *nestedAgent) status(c wire.Command) (status wire.DaemonStatus, err error) {
	err = n.a.call(readLimit, func(ctx context.Context, client *bus.Client) (err error) {
		status, err = client.Control(ctx, c)
		return err
	})
	return status, err
}

// start runs the daemon in our own place: with our tag and depth, so that it stays inside.
func (n *nestedAgent) start() error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the program itself: %w", err)
	}
	home, err := n.a.home()
	if err != nil {
		return err
	}
	child, err := n.procs.Spawn(process.Spec{
		Path: program, Args: []string{"--home", home, "run", "--nested"}, Env: os.Environ(), Dir: "/",
	})
	if err != nil {
		return err
	}
	n.tasks.Go(func() { _, _ = child.Wait() })
	n.mu.Lock()
	defer n.mu.Unlock()
	n.child = child
	return nil
}

// end stops what was begun.
func (n *nestedAgent) end() error {
	if n.stop != nil {
		n.stop()
	}
	var err error
	if n.child != nil {
		ctx, cancel := context.WithTimeout(context.Background(), nestedStop)
		defer cancel()
		_, err = n.procs.Stop(ctx, process.Run{Leader: n.child.ID(), Group: n.child.ID().PID})
	}
	n.tasks.Wait()
	return err
}

// Prompt sends the task as a message of the owner, and says what the chat answers.
func (n *nestedAgent) Prompt(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	var parts []string
	for _, block := range r.Prompt {
		if block.Text != nil {
			parts = append(parts, block.Text.Text)
		}
	}
	text := strings.Join(parts, "\n\n")
	if len(text) > wire.MaxChatText {
		return acp.PromptResponse{}, acp.NewInvalidParams(map[string]any{
			"details": fmt.Sprintf("a message to a nested scv has %d KiB at most", wire.MaxChatText>>10),
		})
	}
	if err := n.daemon(ctx); err != nil {
		return acp.PromptResponse{}, refusal(err)
	}
	before, err := n.reported()
	if err != nil {
		return acp.PromptResponse{}, refusal(err)
	}
	e := &exchange{a: n.a, id: nestedPrefix + randomID(), text: text, doing: func(text string) {
		_ = n.conn.SessionUpdate(ctx, acp.SessionNotification{ // without it nothing is lost but this line
			SessionId: r.SessionId, Update: acp.StartToolCall("progress", text),
		})
	}}
	err = n.a.stay(ctx, e.work)
	n.tell(ctx) // before the turn ends: between turns nobody may think that nothing runs
	switch {
	case ctx.Err() != nil:
		n.cut()
		return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
	case err != nil && !e.done:
		return acp.PromptResponse{}, refusal(n.a.explain(err))
	case e.failed:
		return acp.PromptResponse{}, acp.NewInternalError(map[string]any{"details": strings.Join(e.parts, "\n")})
	}
	news, err := n.news(before, e.seen)
	if err != nil {
		return acp.PromptResponse{}, refusal(err)
	}
	for _, text := range append(news, strings.Join(e.parts, "\n")) {
		err = errors.Join(err, n.conn.SessionUpdate(ctx, acp.SessionNotification{
			SessionId: r.SessionId, Update: acp.UpdateAgentMessageText(text + "\n\n"),
		}))
	}
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, err
}

// refusal passes a sentence of ours on.
func refusal(err error) error {
	return acp.NewInternalError(map[string]any{"details": err.Error()})
}

// cut stops the turn of the chat that nobody waits for any more.
func (n *nestedAgent) cut() {
	status, err := n.status(wire.DelegationsCommand{})
	if err != nil {
		return // it is still a turn of that chat, and ends by itself
	}
	owner := localOwner(status)
	for _, e := range status.Delegations.Entries {
		if e.Turn == nil || e.Conversation == nil || *e.Conversation != owner || e.IdleSinceUnixSeconds != nil {
			continue
		}
		_ = n.a.call(changeLimit, func(ctx context.Context, client *bus.Client) error {
			_, err := client.Control(ctx, wire.DelegationKillCommand{Handle: &e.Handle})
			return err
		})
	}
}

// localOwner is who writes in the local chat, by whom its conversation is called.
func localOwner(status wire.DaemonStatus) string {
	for _, c := range status.Components {
		if c.ID == "local:"+localAccount && c.UserID != nil {
			return *c.UserID
		}
	}
	return ""
}

// What the protocol has besides, and this agent does not.

func (n *nestedAgent) Cancel(context.Context, acp.CancelNotification) error { return nil } // it ends Prompt's context

func (n *nestedAgent) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, acp.NewMethodNotFound(acp.AgentMethodAuthenticate)
}

func (n *nestedAgent) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionClose)
}

func (n *nestedAgent) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

func (n *nestedAgent) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}

func (n *nestedAgent) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetMode)
}
