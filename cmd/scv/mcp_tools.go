package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"scv/wire"
	"scv/wire/bus"
)

type confirmInput struct {
	Question       string  `json:"question" jsonschema:"what the owner is to allow, in one clear sentence that can be answered with yes or no"`
	TimeoutSeconds *uint64 `json:"timeout_seconds,omitzero" jsonschema:"how long to wait, 1800 by default and 14400 at most"`
	For            *string `json:"for,omitzero" jsonschema:"a file or a git commit that the answer is about: the question shows its hash, and a yes counts only while it is the same"`
}

type notifyInput struct {
	Text string `json:"text" jsonschema:"what the owner should know; shown on one line"`
}

type delegateInput struct {
	Agent          string  `json:"agent" jsonschema:"name of the agent, as in config.toml"`
	Task           string  `json:"task" jsonschema:"what it is to do"`
	Folder         string  `json:"folder,omitzero" jsonschema:"folder to work in; this one by default"`
	Conversation   string  `json:"conversation,omitzero" jsonschema:"name of a conversation to go on with, or to begin"`
	TimeoutSeconds *uint64 `json:"timeout_seconds,omitzero" jsonschema:"stop it after so long"`
	Background     bool    `json:"background,omitzero" jsonschema:"return its handle at once; the owner's chat hears the report"`
}

type delegationsInput struct {
	All bool `json:"all,omitzero" jsonschema:"also runs whose owner is gone"`
}

func (t *tools) addTo(server *mcp.Server) {
	addTool(t, server, "confirm_owner", "Ask the owner a yes/no question in chat and wait for the answer. Only the outcome yes allows anything; "+
		"no, expired, withdrawn, failed and every error mean: do not do it.", confirmOwner)
	addTool(t, server, "notify_owner", "Tell the owner something in chat that needs no answer.", notifyOwner)
	addTool(t, server, "delegate", "Give a task to another agent, wait for the end, and get its answer. To give the call up stops that agent.", delegateTask)
	addTool(t, server, "delegations", "List the running agents, as JSON.", func(a *app, in delegationsInput) (*mcp.CallToolResult, error) {
		l, err := (&delegationList{All: in.All}).look(a)
		return asJSON(l.summary, err)
	})
	addTool(t, server, "status", "How the daemon and its chat accounts are, as JSON.", func(a *app, _ struct{}) (*mcp.CallToolResult, error) {
		l, err := a.lookAtStatus(true)
		return asJSON(l.status, err)
	})
	t.addPermissionPrompt(server)
}

func addTool[In any](t *tools, server *mcp.Server, name, does string, run func(*app, In) (*mcp.CallToolResult, error)) {
	mcp.AddTool(server, &mcp.Tool{Name: name, Description: does}, func(ctx context.Context, request *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		if given := jsontext.Value(request.Params.Arguments); len(given) > 0 && !given.IsValid() { // the SDK takes the last of two
			return failedCall(errors.New("the arguments are no clear JSON: each may be named once only")), nil, nil
		}
		return t.call(ctx, request, func(a *app) (*mcp.CallToolResult, error) { return run(a, in) }), nil, nil
	})
}

func asJSON(v any, err error) (*mcp.CallToolResult, error) {
	if err != nil {
		return nil, err
	}
	text, err := wire.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("cannot tell the answer as JSON: %w", err)
	}
	return said(string(text)), nil
}

// span is a time in seconds of a client, or the default.
func span(seconds *uint64, otherwise time.Duration) time.Duration {
	if seconds == nil {
		return otherwise
	}
	return time.Duration(min(*seconds, wire.MaxConfirmSeconds)) * time.Second
}

// confirmOwner begins its answer with the outcome, and says what follows from it.
func confirmOwner(a *app, in confirmInput) (*mcp.CallToolResult, error) {
	ask := confirmCmd{Timeout: span(in.TimeoutSeconds, wire.DefaultConfirmSeconds*time.Second), For: in.For, Question: literal(in.Question)}
	info, err := ask.ask(a)
	if err != nil {
		return nil, err
	}
	result := said(fmt.Sprintf("%s: %s", line(string(info.State)), meaningOf(info.State)))
	result.StructuredContent = info
	result.IsError = info.State != wire.Yes && info.State != wire.No && info.State != wire.Expired
	return result, nil
}

// meaningOf is an outcome in the words of whoever asked.
func meaningOf(state wire.ConfirmState) string {
	switch state {
	case wire.Yes:
		return "the owner said yes to exactly this question"
	case wire.No:
		return "the owner said no, so do not do it"
	case wire.Expired:
		return "the owner did not answer in time, which counts as no; do not do it"
	case wire.Withdrawn:
		return "the question was withdrawn before an answer came; do not do it"
	case wire.NotAsked:
		return "the question did not reach the owner, or the answer was lost; do not do it"
	case wire.Pending, wire.Unknown:
	}
	return "no answer that this scv understands; do not do it"
}

func notifyOwner(a *app, in notifyInput) (*mcp.CallToolResult, error) {
	sent, err := a.notify(in.Text)
	if err != nil {
		return nil, err
	}
	return said("kept, and shown in " + line(sent.Chat)), nil
}

// delegateTask has the daemon run the agent, and stops it when the call is given up.
func delegateTask(a *app, in delegateInput) (*mcp.CallToolResult, error) {
	if strings.TrimSpace(in.Task) == "" {
		return nil, failf(exitUsage, "", "the task is empty")
	}
	c := delegateCmd{Agent: in.Agent, Cwd: in.Folder, Conversation: in.Conversation}
	if in.TimeoutSeconds != nil {
		c.Timeout = time.Duration(min(*in.TimeoutSeconds, uint64(longestDelegation/time.Second))) * time.Second
	}
	folder, err := c.folder()
	if err != nil {
		return nil, err
	}
	handle, err := c.start(a, in.Task, folder)
	if err != nil || in.Background {
		return said(handle), err
	}
	a.note("%s is at work", line(handle))
	report, err := a.reportOf(a.ctx, handle)
	if a.ctx.Err() != nil {
		a.stopRun(handle)
		return nil, errInterrupted
	}
	if err != nil {
		return nil, err
	}
	text := string(report.Outcome)
	if report.Text != nil {
		text = *report.Text
	}
	result := said(text)
	if report.Outcome != wire.RunFinished {
		result = said(fmt.Sprintf("%s: %s", report.Outcome, text))
		result.IsError = true
	}
	return result, nil
}

// longestDelegation is more than anybody waits.
const longestDelegation = 7 * 24 * time.Hour

// stopRun ends a run that nobody waits for any more.
func (a *app) stopRun(handle string) {
	ctx, cancel := linger(a.ctx, changeLimit)
	defer cancel()
	err := a.exchange(ctx, func(ctx context.Context, client *bus.Client) error {
		_, err := client.Control(ctx, wire.DelegationKillCommand{Handle: &handle})
		return err
	})
	if err != nil {
		a.note("scv: %s could not be stopped: %v", handle, err)
	}
}
