package fakemodel

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The same words in the three languages: question, what the tool gave, how a call of it is seen.
var spoken = map[string]struct {
	path, first, second, tool, result, call string
}{
	"messages": {
		"/v1/messages?beta=true",
		`{"stream":STREAM,"messages":[{"role":"user","content":"TEXT"}]TOOLS}`,
		`{"stream":STREAM,"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"one"}]},{"role":"assistant","content":"1"},{"role":"user","content":"TEXT"}]}`,
		`,"tools":[{"name":"Read"},{"name":"Bash"}]`,
		`{"stream":STREAM,"messages":[{"role":"user","content":"run: ls"},{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"a file"}]}]}]}`,
		`"name":"Bash"`,
	},
	"responses": {
		"/v1/responses",
		`{"stream":STREAM,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"TEXT"}]}]TOOLS}`,
		`{"stream":STREAM,"input":[{"role":"user","content":"# AGENTS.md x"},{"role":"user","content":"one"},{"role":"assistant","content":"1"},{"role":"user","content":"TEXT"}]}`,
		`,"tools":[{"type":"web_search"},{"type":"function","name":"exec_command"}]`,
		`{"stream":STREAM,"input":[{"role":"user","content":"run: ls"},{"type":"function_call_output","output":"a file"}]}`,
		`"name":"exec_command"`,
	},
	"contents": {
		"/v1beta/models/m:METHOD",
		`{"contents":[{"role":"user","parts":[{"text":"TEXT"}]}]TOOLS}`,
		`{"contents":[{"role":"user","parts":[{"text":"one"}]},{"role":"model","parts":[{"text":"1"}]},{"role":"user","parts":[{"text":"TEXT"}]}]}`,
		`,"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}]`,
		`{"contents":[{"role":"user","parts":[{"text":"run: ls"}]},{"role":"user","parts":[{"functionResponse":{"response":{"output":"a file"}}}]}]}`,
		`"name":"run_shell_command"`,
	},
}

func TestLanguages(t *testing.T) {
	s := &Server{}
	server := httptest.NewServer(s)
	defer server.Close()
	for name, l := range spoken {
		for _, stream := range []string{"true", "false"} {
			path := strings.Replace(l.path, "METHOD", map[string]string{"true": "streamGenerateContent?alt=sse", "false": "generateContent"}[stream], 1)
			ask := func(question, text, tools, want string) {
				t.Helper()
				body := strings.NewReplacer("STREAM", stream, "TEXT", text, "TOOLS", tools).Replace(question)
				response, err := http.Post(server.URL+path, "application/json", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				got, err := io.ReadAll(response.Body)
				if err != nil || response.StatusCode != 200 || !strings.Contains(strings.ReplaceAll(string(got), `\"`, `"`), want) {
					t.Errorf("%s, stream %s, %q: %d %s, %v; want %s", name, stream, text, response.StatusCode, got, err, want)
				}
				if streams := strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream"); streams != (stream == "true") {
					t.Errorf("%s, stream %s: it answers as %s", name, stream, response.Header.Get("Content-Type"))
				}
			}
			ask(l.first, "hello there", "", "You said: hello there")
			ask(l.first, "please run: ls /", "", "You said: please run: ls /")
			ask(l.first, "please run: ls /", l.tool, l.call)
			ask(l.first, "please run: ls /", l.tool, `"ls /"`)
			ask(l.second, "what did I say first", "", "You first said: one")
			ask(l.result, "", "", "It printed: ")
			ask(l.result, "", "", "a file")
		}
	}
	seen := s.Requests()
	if len(seen) != 3*2*7 || !s.Heard("a file") || s.Heard("never said") {
		t.Errorf("%d requests are on record", len(seen))
	}
	offered := 0
	for _, r := range seen {
		offered += len(r.Tools)
	}
	if offered != 2*2*(2+2+1) {
		t.Errorf("%d tools were offered", offered)
	}
}

func TestOtherRequests(t *testing.T) {
	s := &Server{}
	server := httptest.NewServer(s)
	defer server.Close()
	for _, c := range []struct {
		method, path, body, key string
		want                    int
	}{
		{http.MethodGet, "/v1/models", "", "", 200},
		{http.MethodHead, "/", "", "", 200},
		{http.MethodPost, "/v1/telemetry", "x", "", 200},
		{http.MethodPost, "/v1/messages", "x", "", 400},
		{http.MethodPost, "/v1/responses", "x", "", 400},
		{http.MethodPost, "/v1beta/models/m:generateContent", "x", "", 400},
		{http.MethodPost, "/v1/messages", `{"messages":[]}`, "Bearer " + BadKey, 401},
		{http.MethodPost, "/v1/messages", `{"messages":[]}`, "Bearer another", 200},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", c.key)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != c.want {
			t.Errorf("%s %s %q: %d", c.method, c.path, c.key, response.StatusCode)
		}
	}
}
