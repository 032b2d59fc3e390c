package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressEvery is how often a call that waits says so. Clients commonly give up a call of which they have
// heard nothing for 60 s.
const progressEvery = 10 * time.Second

type mcpCmd struct{}

func (*mcpCmd) Help() string {
	return "It speaks the Model Context Protocol on stdin and stdout, for a client that starts it. Tools: confirm_owner asks the owner " +
		"and waits for the answer, notify_owner says something without waiting, delegate gives a task to another agent, " +
		"delegations and status tell what runs, and permission_prompt is what claude --permission-prompt-tool takes. What a " +
		"tool may do is what scv may do where it is started: inside a run of an agent, what is open to that run."
}

func (c *mcpCmd) Run(a *app) error {
	life, end := context.WithCancel(a.ctx)
	defer end()
	server := mcp.NewServer(&mcp.Implementation{Name: "scv", Version: thisBuild().Version}, &mcp.ServerOptions{
		Instructions: "Ask the owner with confirm_owner before anything that cannot be undone. Only the outcome yes is a yes.",
		Logger:       slog.New(slog.DiscardHandler), Capabilities: &mcp.ServerCapabilities{},
	})
	t := &tools{a: a, life: life}
	t.addTo(server)
	err := server.Run(a.ctx, &mcp.IOTransport{
		Reader: &untilEOF{Reader: a.stdin, end: end}, Writer: keepOpen{a.stdout},
	})
	end()
	t.calls.Wait() // what they ask is withdrawn
	if a.ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return failf(exitFailed, "it is started by an MCP client, such as: claude mcp add scv -- scv mcp", "the MCP client is gone: %w", err)
	}
	return nil
}

// untilEOF ends what is under way once the client is gone: nobody would hear the answer.
type untilEOF struct {
	io.Reader
	end func()
}

func (u *untilEOF) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if err != nil {
		u.end()
	}
	return n, err
}

// Close implements io.Closer: stdin is closed by its other end.
func (u *untilEOF) Close() error { return nil }

// keepOpen is stdout, which outlives the session.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// tools is what a client may call.
type tools struct {
	a     *app
	life  context.Context // of the session
	calls sync.WaitGroup
}

// call runs a tool in a world of its own: it ends when the client gives the call up or goes away, and what
// scv would say on stderr goes to the client as progress.
func (t *tools) call(ctx context.Context, request *mcp.CallToolRequest, run func(*app) (*mcp.CallToolResult, error)) *mcp.CallToolResult {
	t.calls.Add(1)
	defer t.calls.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.life, cancel)()
	world := *t.a
	world.ctx, world.watched, world.typed = ctx, false, false
	said := &progress{ctx: ctx, session: request.Session, token: request.Params.GetProgressToken()}
	world.stderr = said
	defer said.every(t.a.pace.progress)()
	result, err := run(&world)
	if err != nil {
		return failedCall(err)
	}
	return result
}

// failedCall tells an agent what a person would read on stderr.
func failedCall(err error) *mcp.CallToolResult {
	text := line(err.Error())
	if hint := hintOf(err); hint != "" {
		text += "\n" + line(hint)
	}
	result := said(text)
	result.IsError = true
	return result
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
