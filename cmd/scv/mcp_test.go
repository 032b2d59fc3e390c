package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"scv/wire"
	"scv/wire/bus"
)

// mcpClient is the SDK's own client with what it heard on the way.
type mcpClient struct {
	*mcp.ClientSession
	t    *testing.T
	mu   sync.Mutex
	news []string
}

func connectMCP(t *testing.T, over mcp.Transport) *mcpClient {
	t.Helper()
	c := &mcpClient{t: t}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, p *mcp.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.news = append(c.news, p.Params.Message)
		},
	})
	session, err := client.Connect(t.Context(), over, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.ClientSession = session
	t.Cleanup(func() { session.Close() })
	return c
}

// heard is how often a piece of news came.
func (c *mcpClient) heard(what string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, news := range c.news {
		if strings.Contains(news, what) {
			n++
		}
	}
	return n
}

// use calls a tool, and returns what it says.
func (c *mcpClient) use(ctx context.Context, tool string, arguments map[string]any) (text string, failed bool, err error) {
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken(randomID())
	result, err := c.CallTool(ctx, params)
	if err != nil {
		return "", false, err
	}
	for _, part := range result.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	return text, result.IsError, nil
}

type mcpAnswer struct {
	text   string
	failed bool
	err    error
}

func (c *mcpClient) background(ctx context.Context, tool string, arguments map[string]any) <-chan mcpAnswer {
	done := make(chan mcpAnswer, 1)
	go func() {
		text, failed, err := c.use(ctx, tool, arguments)
		done <- mcpAnswer{text, failed, err}
	}()
	return done
}

func awaitMCP(t *testing.T, done <-chan mcpAnswer) mcpAnswer {
	t.Helper()
	select {
	case a := <-done:
		return a
	case <-time.After(20 * time.Second):
		t.Fatal("the tool did not answer")
		return mcpAnswer{}
	}
}

// mcpHere serves MCP in this process, to a daemon without a mind, and repeats its news often.
func mcpHere(t *testing.T, d *askedDaemon) *mcpClient {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	a := quickApp(t, d.home, "", out)
	a.stdin, a.ctx = in, context.Background() // that of the test ends before its clean-up
	a.pace.keepAlive, a.pace.progress = keepAlive, 5*time.Millisecond
	done := make(chan error, 1)
	go func() { done <- new(mcpCmd).Run(a); out.Close() }()
	c := connectMCP(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer})
	t.Cleanup(func() {
		c.Close()
		toServer.Close()
		if err := <-done; err != nil && !errors.Is(err, io.ErrClosedPipe) { // it may be saying something still
			t.Error(err)
		}
	})
	return c
}

// TestMCPOutcomes: only a yes begins with yes, and only a permission that got one is allowed.
func TestMCPOutcomes(t *testing.T) {
	for _, c := range []struct {
		state  wire.ConfirmState
		begins string
		failed bool
	}{
		{wire.Yes, "yes: the owner said yes", false},
		{wire.No, "no: ", false},
		{wire.Expired, "expired: ", false},
		{wire.Withdrawn, "withdrawn: ", true},
		{wire.NotAsked, "failed: ", true},
		{"YES", "unknown: ", true},
		{"", "unknown: ", true},
	} {
		d, _ := boundDaemon(t, asShown)
		d.set(c.state)
		client := mcpHere(t, d)
		text, failed, err := client.use(t.Context(), "confirm_owner", map[string]any{"question": "Deploy?"})
		if err != nil || failed != c.failed || !strings.HasPrefix(text, c.begins) {
			t.Errorf("%s: %q, failed %v, %v", c.state, text, failed, err)
		}
		input := map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "ls", "n": 9007199254740993}, "tool_use_id": "toolu_1"}
		text, failed, err = client.use(t.Context(), "permission_prompt", input)
		want := `{"behavior":"allow","updatedInput":{"command":"ls","n":9007199254740993}}`
		if c.state != wire.Yes {
			want = `{"behavior":"deny","message":"`
		}
		if err != nil || failed || !strings.HasPrefix(text, want) {
			t.Errorf("%s: %s, failed %v, %v", c.state, text, failed, err)
		}
	}
}

// TestMCPRefusals: what cannot be asked or said is an error, and never looks like an answer.
func TestMCPRefusals(t *testing.T) {
	d, _ := boundDaemon(t, asShown)
	d.set(wire.Yes)
	client := mcpHere(t, d)
	for _, c := range []struct {
		tool      string
		arguments map[string]any
	}{
		{"confirm_owner", map[string]any{}},
		{"confirm_owner", map[string]any{"question": " "}},
		{"confirm_owner", map[string]any{"question": "Deploy?", "timeout_seconds": 0}},
		{"confirm_owner", map[string]any{"question": "Deploy?", "timeout_seconds": -5}},
		{"confirm_owner", map[string]any{"question": "Deploy?", "for": "./none"}},
		{"confirm_owner", map[string]any{"question": "Deploy?", "unknown": 1}},
		{"notify_owner", map[string]any{"text": 7}},
		{"delegate", map[string]any{"agent": "x", "task": ""}},
	} {
		if text, failed, err := client.use(t.Context(), c.tool, c.arguments); err == nil && !failed || strings.HasPrefix(text, "yes") {
			t.Errorf("%s %v: %q, failed %v, %v", c.tool, c.arguments, text, failed, err)
		}
	}
	for _, arguments := range []map[string]any{{}, {"tool_name": "Bash"}, {"tool_name": "Bash", "input": "ls"}, {"input": map[string]any{}}} {
		if text, _, err := client.use(t.Context(), "permission_prompt", arguments); err == nil && !strings.HasPrefix(text, `{"behavior":"deny"`) {
			t.Errorf("%v: %q", arguments, text)
		}
	}
	if d.question() != "" {
		t.Errorf("asked %q", d.question())
	}
}

// TestMCPTellsThatItWaits: a client that hears of progress does not give the call up.
func TestMCPTellsThatItWaits(t *testing.T) {
	d, _ := boundDaemon(t, asShown)
	client := mcpHere(t, d)
	done := client.background(t.Context(), "confirm_owner", map[string]any{"question": "Deploy?"})
	until(t, "the client hears again and again that it waits", func() bool { return client.heard("asked in local:default; waiting until") > 3 })
	d.stop()
	until(t, "the client hears that the daemon is away", func() bool { return client.heard("the daemon went away") > 0 })
	d.start()
	d.set(wire.No)
	if got := awaitMCP(t, done); got.err != nil || !strings.HasPrefix(got.text, "no: ") {
		t.Errorf("%+v", got)
	}
}

// TestMCPGivenUp: a call that the client cancels withdraws its question.
func TestMCPGivenUp(t *testing.T) {
	d, _ := boundDaemon(t, asShown)
	client := mcpHere(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	done := client.background(ctx, "confirm_owner", map[string]any{"question": "Deploy?"})
	until(t, "it waits", d.looked(1))
	cancel()
	if got := awaitMCP(t, done); got.err == nil {
		t.Errorf("%+v", got)
	}
	until(t, "the question is withdrawn", func() bool { return len(d.requests(wire.SubjectConfirmWithdraw)) == 1 })
}

// startMCP starts scv mcp as a process. leave is what the end of its client is to it: no more stdin.
func startMCP(t *testing.T, home string) (client *mcpClient, leave func() error) {
	t.Helper()
	cmd := exec.Command("scv", "mcp")
	cmd.Env, cmd.Stderr, cmd.Dir = append(os.Environ(), "SCV_HOME="+home), os.Stderr, t.TempDir()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	leave = sync.OnceValue(func() error {
		in.Close()
		return cmd.Wait()
	})
	t.Cleanup(func() { _ = leave() })
	return connectMCP(t, &mcp.IOTransport{Reader: out, Writer: in}), leave
}

// TestMCPForReal: a real daemon, scv as a real process, and the SDK's client on its stdin and stdout.
func TestMCPForReal(t *testing.T) {
	home := newHome(t)
	config := "[agents.echo]\ncommand = [\"sh\", \"-c\", \"echo You said: $(cat)\"]\n[agents.slow]\ncommand = [\"sleep\", \"600\"]\n"
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, home)
	c := d.client(t)
	client, leave := startMCP(t, home)
	client.offers("confirm_owner", "delegate", "delegations", "notify_owner", "permission_prompt", "status")
	for _, use := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{"notify_owner", map[string]any{"text": "half\ndone"}, "kept, and shown in local:default"},
		{"status", nil, `{"version":"`},
		{"delegations", nil, `{"active":0,`},
		{"delegate", map[string]any{"agent": "echo", "task": "hello"}, "You said: hello"},
	} {
		if text, failed, err := client.use(t.Context(), use.tool, use.arguments); err != nil || failed || !strings.HasPrefix(text, use.want) {
			t.Errorf("%s: %q, failed %v, %v", use.tool, text, failed, err)
		}
	}
	ask := map[string]any{"question": "Deploy?"}
	done := client.background(t.Context(), "confirm_owner", ask)
	until(t, "it is asked", func() bool { return open(t, c) == 1 && client.heard("asked in local:default") == 1 })
	say(t, c, "m1", "yes")
	if got := awaitMCP(t, done); got.err != nil || got.failed || !strings.HasPrefix(got.text, "yes: ") {
		t.Errorf("%+v", got)
	}

	// A client that goes away leaves neither a question nor an agent behind.
	asking := client.background(t.Context(), "confirm_owner", ask)
	working := client.background(t.Context(), "delegate", map[string]any{"agent": "slow", "task": "hello"})
	until(t, "it is asked", func() bool { return open(t, c) == 1 })
	until(t, "it works", func() bool { return client.heard("slow-") > 0 && len(handles(t, c)) == 1 })
	if err := leave(); err != nil {
		t.Errorf("scv mcp ended with %v", err)
	}
	awaitMCP(t, asking)
	awaitMCP(t, working)
	if open(t, c) != 0 {
		t.Error("the question is still open")
	}
	until(t, "nothing works any more", func() bool { return len(handles(t, c)) == 0 })
	d.terminate(t)
}

// offers holds the tools of a server against these names, in order.
func (c *mcpClient) offers(want ...string) {
	c.t.Helper()
	var got []string
	for tool, err := range c.Tools(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		if tool.Description != "" {
			got = append(got, tool.Name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		c.t.Errorf("tools %v, want %v", got, want)
	}
}

// say is the owner's word in the local chat.
func say(t *testing.T, c *bus.Client, id, text string) {
	t.Helper()
	if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: id, Text: text}); err != nil {
		t.Fatal(err)
	}
}

// open is how many questions the owner can answer now.
func open(t *testing.T, c *bus.Client) (n int) {
	t.Helper()
	list, err := c.ConfirmList(t.Context(), wire.ConfirmListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range list.Confirms {
		if q.OpenedUnixMillis != nil {
			n++
		}
	}
	return n
}

// handles is every run on record.
func handles(t *testing.T, c *bus.Client) (handles []string) {
	t.Helper()
	status, err := c.Control(t.Context(), wire.DelegationsCommand{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range status.Delegations.Entries {
		handles = append(handles, e.Handle)
	}
	return handles
}

// TestMCPUnclearArguments: what is given twice, or is for nothing, is asked of nobody.
func TestMCPUnclearArguments(t *testing.T) {
	d, _ := boundDaemon(t, asShown)
	d.set(wire.Yes)
	c := mcpHere(t, d)
	for arguments, want := range map[string]string{
		`{"question":"Look?","question":"Deploy?"}`: "named once only",
		`{"question":"Deploy?","for":""}`:           "what the answer is for is empty",
	} {
		result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "confirm_owner", Arguments: json.RawMessage(arguments)})
		if err != nil || !result.IsError || !strings.Contains(result.Content[0].(*mcp.TextContent).Text, want) {
			t.Errorf("%s: %+v, %v", arguments, result, err)
		}
	}
	result, err := c.CallTool(t.Context(), &mcp.CallToolParams{
		Name: "permission_prompt", Arguments: json.RawMessage(`{"tool_name":"Bash","input":{"command":"ls","command":"rm"}}`),
	})
	if err != nil || !strings.Contains(result.Content[0].(*mcp.TextContent).Text, `"deny"`) {
		t.Errorf("a command that is given twice: %+v, %v", result, err)
	}
	if got := d.question(); got != "" {
		t.Errorf("asked %q", got)
	}
}
