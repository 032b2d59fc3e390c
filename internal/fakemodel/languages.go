package fakemodel

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// part is a piece of a message, in any of the languages.
type part struct {
	Type    string         `json:"type"`
	Text    string         `json:"text"`
	Content jsontext.Value `json:"content"`

	FunctionResponse *struct {
		Response jsontext.Value `json:"response"`
	} `json:"functionResponse"`
}

// content is a string or a list of parts.
func content(raw jsontext.Value) []part {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []part{{Type: "text", Text: text}}
	}
	var parts []part
	_ = json.Unmarshal(raw, &parts) // what is neither holds no words
	return parts
}

// words joins the texts of a content.
func words(raw jsontext.Value) string {
	var texts []string
	for _, p := range content(raw) {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

// offered are the tools of a question, by name or else by type.
func offered(tools []struct{ Type, Name string }) []string {
	var names []string
	for _, t := range tools {
		if t.Name == "" {
			t.Name = t.Type
		}
		names = append(names, t.Name)
	}
	return names
}

// readMessages reads Anthropic's Messages.
func readMessages(body []byte) (question, error) {
	var in struct {
		Stream   bool                          `json:"stream"`
		Tools    []struct{ Type, Name string } `json:"tools"`
		Messages []struct {
			Role    string         `json:"role"`
			Content jsontext.Value `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in, json.MatchCaseInsensitiveNames(true)); err != nil {
		return question{}, err
	}
	q := question{stream: in.Stream, tools: offered(in.Tools)}
	for _, m := range in.Messages {
		q.result = nil
		for _, p := range content(m.Content) {
			switch {
			case p.Type == "tool_result":
				result := words(p.Content)
				q.result = &result
			case m.Role == "user" && p.Type == "text":
				q.wrote(p.Text)
			}
		}
	}
	return q, nil
}

func writeMessages(q question, a answer) string {
	block, delta, stop := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": a.text}, "end_turn"
	whole := map[string]any{"type": "text", "text": a.text}
	if a.tool != "" {
		stop = "tool_use"
		block = map[string]any{"type": "tool_use", "id": a.id, "name": a.tool, "input": map[string]any{}}
		delta = map[string]any{"type": "input_json_delta", "partial_json": arguments(a)}
		whole = map[string]any{"type": "tool_use", "id": a.id, "name": a.tool, "input": shells[a.tool](a.line)}
	}
	usage := map[string]any{"input_tokens": 1, "output_tokens": 1}
	message := map[string]any{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": "fake", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	if !q.stream {
		message["content"], message["stop_reason"] = []any{whole}, stop
		return object(message)
	}
	return events(
		map[string]any{"type": "message_start", "message": message},
		map[string]any{"type": "content_block_start", "index": 0, "content_block": block},
		map[string]any{"type": "content_block_delta", "index": 0, "delta": delta},
		map[string]any{"type": "content_block_stop", "index": 0},
		map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": usage},
		map[string]any{"type": "message_stop"},
	)
}

// readResponses reads OpenAI's Responses.
func readResponses(body []byte) (question, error) {
	var in struct {
		Stream bool                          `json:"stream"`
		Tools  []struct{ Type, Name string } `json:"tools"`
		Input  []struct {
			Type    string         `json:"type"`
			Role    string         `json:"role"`
			Content jsontext.Value `json:"content"`
			Output  jsontext.Value `json:"output"`
		} `json:"input"`
	}
	if err := json.Unmarshal(body, &in, json.MatchCaseInsensitiveNames(true)); err != nil {
		return question{}, err
	}
	q := question{stream: in.Stream, tools: offered(in.Tools)}
	for _, item := range in.Input {
		q.result = nil
		switch {
		case strings.HasSuffix(item.Type, "_call_output"):
			result := words(item.Output)
			q.result = &result
		case item.Role == "user":
			for _, p := range content(item.Content) {
				q.wrote(p.Text)
			}
		}
	}
	return q, nil
}

func writeResponses(q question, a answer) string {
	item := map[string]any{
		"type": "message", "id": "msg_" + a.id, "role": "assistant", "status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": a.text, "annotations": []any{}}},
	}
	if a.tool != "" {
		item = map[string]any{
			"type": "function_call", "id": "fc_" + a.id, "call_id": a.id, "status": "completed",
			"name": a.tool, "arguments": arguments(a),
		}
	}
	usage := map[string]any{
		"input_tokens": 1, "output_tokens": 1, "total_tokens": 2,
		"input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
	}
	done := map[string]any{
		"id": "resp_" + a.id, "object": "response", "created_at": 1, "model": "fake", "status": "completed",
		"output": []any{item}, "usage": usage,
	}
	if !q.stream {
		return object(done)
	}
	begun := map[string]any{"id": "resp_" + a.id, "object": "response", "created_at": 1, "model": "fake", "status": "in_progress", "output": []any{}}
	all := []map[string]any{{"type": "response.created", "response": begun}}
	if a.tool == "" {
		empty := map[string]any{"type": "message", "id": "msg_" + a.id, "role": "assistant", "status": "in_progress", "content": []any{}}
		all = append(all,
			map[string]any{"type": "response.output_item.added", "output_index": 0, "item": empty},
			map[string]any{"type": "response.output_text.delta", "item_id": "msg_" + a.id, "output_index": 0, "content_index": 0, "delta": a.text, "logprobs": []any{}},
		)
	}
	return events(append(all,
		map[string]any{"type": "response.output_item.done", "output_index": 0, "item": item},
		map[string]any{"type": "response.completed", "response": done},
	)...)
}

// readContents reads Gemini's generateContent.
func readContents(body []byte, stream bool) (question, error) {
	var in struct {
		Tools []struct {
			FunctionDeclarations []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		Contents []struct {
			Role  string `json:"role"`
			Parts []part `json:"parts"`
		} `json:"contents"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return question{}, err
	}
	q := question{stream: stream}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			q.tools = append(q.tools, f.Name)
		}
	}
	for _, c := range in.Contents {
		q.result = nil
		for _, p := range c.Parts {
			switch {
			case p.FunctionResponse != nil:
				result := string(p.FunctionResponse.Response)
				q.result = &result
			case c.Role == "user":
				q.wrote(p.Text)
			}
		}
	}
	return q, nil
}

func writeContents(q question, a answer) string {
	piece := map[string]any{"text": a.text}
	if a.tool != "" {
		piece = map[string]any{"functionCall": map[string]any{"name": a.tool, "args": shells[a.tool](a.line)}}
	}
	out := map[string]any{
		"candidates": []any{map[string]any{
			"content": map[string]any{"role": "model", "parts": []any{piece}}, "finishReason": "STOP", "index": 0,
		}},
		"usageMetadata": map[string]any{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
		"modelVersion":  "fake",
	}
	if !q.stream {
		return object(out)
	}
	return "data: " + object(out) + "\n\n"
}

// arguments is how a tool is called, as the JSON text that the languages carry.
func arguments(a answer) string { return object(shells[a.tool](a.line)) }

// object writes what is made of maps, lists and strings, which cannot fail.
func object(v any) string {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// events is a stream of server-sent events.
func events(all ...map[string]any) string {
	var b strings.Builder
	for i, e := range all {
		e["sequence_number"] = i
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e["type"], object(e))
	}
	return b.String()
}
