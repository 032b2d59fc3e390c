package main

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

type hookCmds struct {
	Permission hookPermission `cmd:"" help:"Ask the owner what a coding agent may do, as its hook."`
}

// maxHookInput bounds what is read: a tool's input can hold a whole file.
const maxHookInput = 16 << 20

type hookPermission struct {
	Timeout time.Duration `default:"30m" help:"How long to wait before silence counts as no (default ${default}). The agent must let its hook run as long."`
}

func (*hookPermission) Help() string {
	return "It reads a hook's JSON on stdin, asks the owner in chat, and prints the decision as JSON: for the events PreToolUse and " +
		"PermissionRequest of Claude Code, and PermissionRequest of those that took them over. Only the owner's yes allows; whatever else " +
		"happens denies, with the reason. Exit code: 0 decided, 2 denied in a way that needs no JSON."
}

// hookInput is what an agent tells its hook.
type hookInput struct {
	Event     string         `json:"hook_event_name"`
	Tool      string         `json:"tool_name"`
	ToolInput jsontext.Value `json:"tool_input"`
	Cwd       string         `json:"cwd"`
}

// Forms of the decision, one for each event.
type (
	preToolUse struct {
		Event    string `json:"hookEventName"`
		Decision string `json:"permissionDecision"`
		Reason   string `json:"permissionDecisionReason"`
	}
	permissionRequest struct {
		Event    string          `json:"hookEventName"`
		Decision requestDecision `json:"decision"`
	}
	requestDecision struct {
		Behavior string `json:"behavior"`
		Message  string `json:"message,omitzero"`
	}
)

// Run ends with 0 or 2 and nothing else: an agent takes every other exit code of a hook for a mishap, and
// goes on without its decision.
func (c *hookPermission) Run(a *app) error {
	in, err := readHook(a)
	if err != nil {
		return unanswered(fmt.Errorf("denied, since the hook cannot be understood: %w", err))
	}
	r := a.permit(permission{tool: in.Tool, input: in.ToolInput, cwd: in.Cwd}, c.Timeout)
	decision, err := json.Marshal(map[string]any{"hookSpecificOutput": in.decide(r.allows(), r.why)})
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "%s\n", decision)
	}
	if err != nil {
		a.takeBack(r.info, r.text, "the answer could not be told to who asked")
		return unanswered(fmt.Errorf("denied, since the decision cannot be told: %w", err))
	}
	return nil
}

func readHook(a *app) (in hookInput, err error) {
	text, err := readAll(a.ctx, a.stdin, maxHookInput)
	switch {
	case a.ctx.Err() != nil:
		return in, errInterrupted
	case err != nil:
		return in, fmt.Errorf("cannot read it: %w", err)
	case len(text) > maxHookInput:
		return in, fmt.Errorf("it is larger than %d MiB", maxHookInput>>20)
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return in, fmt.Errorf("it is no JSON of a hook: %w", err)
	}
	switch {
	case in.Event != "PreToolUse" && in.Event != "PermissionRequest":
		return in, fmt.Errorf("the event %q asks for no permission", in.Event)
	case in.Tool == "" || in.ToolInput.Kind() != '{':
		return in, fmt.Errorf("it does not name a tool and its input")
	}
	return in, nil
}

func (in hookInput) decide(allowed bool, why string) any {
	word := map[bool]string{true: "allow", false: "deny"}[allowed]
	if in.Event == "PreToolUse" {
		return preToolUse{in.Event, word, why}
	}
	d := requestDecision{Behavior: word}
	if !allowed {
		d.Message = why
	}
	return permissionRequest{in.Event, d}
}
