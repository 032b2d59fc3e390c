//go:build platforms

package feishutest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
)

// node is the vendor's Node SDK in a child. SCV_TEST_FEISHU_NODE is the folder that it was installed into;
// .ci/platforms does both.
type node struct {
	t     *testing.T
	ctx   context.Context
	lines chan string
}

func startNode(t *testing.T, p *Platform, mode string, args ...string) *node {
	t.Helper()
	folder := os.Getenv("SCV_TEST_FEISHU_NODE")
	if folder == "" {
		t.Skip("SCV_TEST_FEISHU_NODE names no folder with the Node SDK: use make test-platforms")
	}
	root := filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(root, p.CertPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*limit)
	host := strings.TrimPrefix(p.URL(), "https://")
	child := exec.CommandContext(ctx, "node", append([]string{"testdata/node_sdk.cjs", mode, host}, args...)...)
	child.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(folder, "node_modules"), "NODE_EXTRA_CA_CERTS="+root)
	return &node{t, ctx, startChild(t, child, cancel)}
}

// startChild starts a child that ends with its standard input, and gives its lines.
func startChild(t *testing.T, child *exec.Cmd, cancel func()) chan string {
	t.Helper()
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	child.Stderr = os.Stderr
	child.WaitDelay = limit
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	var reading sync.WaitGroup
	reading.Go(func() {
		for scan := bufio.NewScanner(out); scan.Scan(); {
			lines <- scan.Text()
		}
	})
	t.Cleanup(func() {
		_ = in.Close()
		reading.Wait()
		_ = child.Wait()
		cancel()
	})
	return lines
}

func (n *node) says(want string) {
	n.t.Helper()
	select {
	case got := <-n.lines:
		if canonical(n.t, got) != canonical(n.t, want) {
			n.t.Errorf("Node says %s, want %s", got, want)
		}
	case <-n.ctx.Done():
		n.t.Fatalf("Node says nothing, want %s", want)
	}
}

func (n *node) await(p *Platform, what string, cond func() bool) {
	n.t.Helper()
	if err := p.Await(n.ctx, cond); err != nil {
		n.t.Fatalf("%s: %v", what, err)
	}
}

func TestNodeHearsAndAcknowledges(t *testing.T) {
	p := New(t, Options{Config: quick})
	app := p.App()
	chat := p.Direct(app.ID, app.Owner)
	n := startNode(t, p, "listen", app.ID, app.Secret)
	n.says(`{"state":"ready"}`)
	for text, fault := range map[string]Fault{"hello": {}, "split": {Route: Push, Parts: 4, Shred: true}} {
		p.Inject(fault)
		id := p.Say(chat, app.Owner, text)
		n.says(fmt.Sprintf(`{"id":"%s","kind":"text","content":"{\"text\":\"%s\"}","sender":"%s"}`, id, text, app.Owner))
		n.await(p, "the ack", func() bool { return p.Acked(id) })
	}
	p.Kick(app.ID)
	n.says(`{"state":"again"}`)
	id := p.Say(chat, app.Owner, "again")
	n.await(p, "the ack", func() bool { return p.Acked(id) })
	n.await(p, "pings", func() bool { return p.Pings(app.ID) >= 2 })
}

func TestNodeIsPushedAgainWhatItFailed(t *testing.T) {
	p := New(t, Options{Config: quick, Repush: often})
	app := p.App()
	n := startNode(t, p, "listen", app.ID, app.Secret)
	n.says(`{"state":"ready"}`)
	id := p.Say(p.Direct(app.ID, app.Owner), app.Owner, "fail once")
	n.await(p, "the ack", func() bool { return p.Acked(id) })
	if acks := p.Acks(); acks[0].Code != 500 {
		t.Errorf("acks %+v", acks)
	}
}

func TestNodeIsRefused(t *testing.T) {
	p := New(t, Options{Config: quick})
	app := p.App()
	p.SetSecret(app.ID, "another")
	startNode(t, p, "listen", app.ID, app.Secret).
		says(`{"state":"failed","why":"pullConnectConfig failed: code=514, msg=app id or secret is invalid"}`)
}

func TestNodeTalks(t *testing.T) {
	p := New(t, Options{})
	app := p.App()
	said := p.Say(p.Direct(app.ID, app.Owner), app.Owner, "", File("a.txt", []byte("letters")))
	p.mu.Lock()
	key := field(p.message(said).content, "file_key")
	p.mu.Unlock()
	n := startNode(t, p, "talk", app.ID, app.Secret, app.Owner, said, key)
	sent, err := p.AwaitSent(n.ctx, func(sent []Sent) bool { return len(sent) == 2 })
	if err != nil {
		t.Fatal(err)
	}
	hi, image := sent[0], sent[1]
	if hi.Text != "hi" || image.ReplyTo != said || string(p.Blob(field(image.Content, "image_key"))) != "pixels" {
		t.Errorf("sent %+v", sent)
	}
	n.says(fmt.Sprintf(`{"first":"%[1]s","again":"%[1]s"}`, hi.MessageID))
	n.says(fmt.Sprintf(`{"parent":"%s"}`, said))
	n.says(fmt.Sprintf(`{"items":["%s","%s","%s"]}`, said, hi.MessageID, image.MessageID))
	n.says(`{"file":"letters"}`)
}

func TestNodeSignsIn(t *testing.T) {
	for _, test := range []struct {
		plan SignIn
		want string // %s are the id, the secret and the owner
	}{
		{SignIn{Interval: 1, Polls: []Poll{{Error: "authorization_pending"}}}, `{"made":{"client_id":"%s","client_secret":"%s","user_info":{"open_id":"%s","tenant_brand":"feishu"}},"states":["polling"]}`},
		{SignIn{Interval: 1, App: App{Brand: Lark}}, `{"made":{"client_id":"%s","client_secret":"%s","user_info":{"open_id":"%s","tenant_brand":"lark"}},"states":["domain_switched"]}`},
		{SignIn{Interval: 1, Last: &Poll{Error: "access_denied"}}, `{"made":{"error":"access_denied"},"states":[]}`},
		{SignIn{Interval: 1, Last: &Poll{Error: "expired_token"}}, `{"made":{"error":"expired_token"},"states":[]}`},
	} {
		p := New(t, Options{})
		p.PlanSignIn(test.plan)
		n := startNode(t, p, "register")
		n.says(`{"url":"https://open.feishu.cn/page/cli?user_code=ABCD-1234"}`)
		want := test.want
		if strings.Contains(want, "%s") {
			n.await(p, "an app", func() bool { return len(p.Apps()) == 2 })
			made := p.Apps()[1]
			want = fmt.Sprintf(want, made.ID, made.Secret, made.Owner)
		}
		n.says(want)
	}
}

// canonical sorts what JSON says, so that the order of its keys does not matter.
func canonical(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return text
	}
	return encode(v)
}
