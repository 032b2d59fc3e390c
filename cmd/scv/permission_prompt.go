package main

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"scv/wire"
)

// promptInput is what Claude Code gives to the tool that --permission-prompt-tool names.
type promptInput struct {
	ToolName string         `json:"tool_name"`
	Input    jsontext.Value `json:"input"`
}

// promptAnswer is what it wants to hear. The input goes back byte for byte: the answer is about that alone.
type promptAnswer struct {
	Behavior     string         `json:"behavior"`
	UpdatedInput jsontext.Value `json:"updatedInput,omitzero"`
	Message      string         `json:"message,omitzero"`
}

const promptSchema = `{"type":"object","properties":{"tool_name":{"type":"string"},"input":{"type":"object"},"tool_use_id":{"type":"string"}},"required":["tool_name","input"]}`

// addPermissionPrompt adds the tool without the SDK's own decoding, which would change large numbers.
func (t *tools) addPermissionPrompt(server *mcp.Server) {
	tool := &mcp.Tool{
		Name: "permission_prompt", InputSchema: jsontext.Value(promptSchema),
		Description: "For claude --permission-prompt-tool mcp__scv__permission_prompt: asks the owner whether a tool may be used.",
	}
	server.AddTool(tool, func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return t.call(ctx, request, func(a *app) (*mcp.CallToolResult, error) {
			return promptOwner(a, []byte(request.Params.Arguments))
		}), nil
	})
}

func promptOwner(a *app, arguments []byte) (*mcp.CallToolResult, error) {
	var in promptInput
	answer := promptAnswer{Behavior: "deny"}
	if err := json.Unmarshal(arguments, &in); err != nil || in.ToolName == "" || in.Input.Kind() != '{' {
		answer.Message = "the request does not name a tool and its input"
	} else if r := a.permit(permission{tool: in.ToolName, input: in.Input}, wire.DefaultConfirmSeconds*time.Second); r.allows() {
		answer = promptAnswer{Behavior: "allow", UpdatedInput: in.Input}
	} else {
		answer.Message = r.why
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return said(string(text)), nil
}
