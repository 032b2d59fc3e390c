//go:build platforms

package wechattest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// vendor is the vendor's client in a child. SCV_TEST_WECHAT_NODE is the folder that it was installed into;
// .ci/platforms does both.
type vendor struct {
	t     *testing.T
	in    io.Writer
	lines chan string
	ctx   context.Context
}

func startVendor(t *testing.T, p *Platform, mode string, args ...string) *vendor {
	t.Helper()
	folder := os.Getenv("SCV_TEST_WECHAT_NODE")
	if folder == "" {
		t.Skip("SCV_TEST_WECHAT_NODE names no folder with the vendor's client: use make test-platforms")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*limit)
	child := exec.CommandContext(ctx, "node", append([]string{"testdata/openclaw_weixin.mjs", mode, folder, p.PlainURL()}, args...)...)
	child.Env = append(os.Environ(), "OPENCLAW_STATE_DIR="+t.TempDir(), "OPENCLAW_LOG_LEVEL=FATAL")
	child.Stderr, child.WaitDelay = os.Stderr, limit
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(lines)
		for scan := bufio.NewScanner(out); scan.Scan(); { // what it prints for people is passed over
			if line, ours := strings.CutPrefix(scan.Text(), "> "); ours {
				lines <- line
			}
		}
	})
	t.Cleanup(func() {
		cancel() // unless it has ended
		reading.Wait()
		_ = child.Wait()
		_ = in.Close()
	})
	return &vendor{t, in, lines, ctx}
}

func (v *vendor) says(want string) {
	v.t.Helper()
	if got, more := <-v.lines; !more || canonical(got) != canonical(want) {
		v.t.Errorf("the vendor's client says %s, want %s", got, want)
	}
}

// canonical sorts what JSON says, so that the order of its keys does not matter.
func canonical(text string) string {
	v := jsontext.Value(text)
	if v.Canonicalize() != nil {
		return text
	}
	return string(v)
}

func TestVendorSignsIn(t *testing.T) {
	for name, plan := range map[string]SignIn{
		"scanned":     {Statuses: []Status{{Name: "wait"}, {Name: "scaned"}}},
		"moved":       {Statuses: []Status{{Name: "scaned_but_redirect", Host: "ilinkai.weixin.qq.com"}}},
		"second code": {Statuses: []Status{{Name: "expired"}}},
		"bound":       {Last: &Status{Name: "binded_redirect"}},
		"numbered":    {Verify: "42"},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(t, Options{})
			p.PlanSignIn(plan)
			v := startVendor(t, p, "login")
			if link := <-v.lines; !strings.Contains(link, "liteapp.weixin.qq.com") {
				t.Errorf("link %s", link)
			}
			if plan.Verify != "" {
				_, _ = io.WriteString(v.in, plan.Verify+"\n")
			}
			if plan.Last != nil {
				v.says(`{"connected":false,"alreadyConnected":true}`)
				return
			}
			got := <-v.lines
			made := p.Bots()
			if len(made) != 2 {
				t.Fatalf("it says %s, and there are %+v", got, made)
			}
			want := fmt.Sprintf(`{"connected":true,"botToken":%q,"accountId":%q,"baseUrl":"https://ilinkai.weixin.qq.com","userId":%q}`,
				made[1].Token, made[1].ID, made[1].Owner)
			if canonical(got) != canonical(want) {
				t.Errorf("it says %s, want %s", got, want)
			}
		})
	}
}

func TestVendorPolls(t *testing.T) {
	p := New(t, Options{})
	bot := p.Bot()
	first := p.Say(bot.ID, bot.Owner, "one")
	v := startVendor(t, p, "poll", bot.Token, bot.Owner)
	v.says(fmt.Sprintf(`{"ids":[%q],"texts":["one"]}`, first))
	if err := p.Await(v.ctx, func() bool { return p.Acked(first) && p.Polls(bot.ID) == 1 }); err != nil {
		t.Fatal(err)
	}
	second := p.Say(bot.ID, bot.Owner, "two")
	v.says(fmt.Sprintf(`{"ids":[%q],"texts":["two"]}`, second))
	p.Expire(bot.ID)
	startVendor(t, p, "poll", bot.Token, bot.Owner).says(`{"errcode":-14}`)
}

func TestVendorTalks(t *testing.T) {
	p := New(t, Options{})
	bot := p.Bot()
	p.Say(bot.ID, bot.Owner, "look", QuoteID("4611686018427387999"))
	p.Say(bot.ID, bot.Owner, "", Image([]byte("a picture")))
	p.Say(bot.ID, bot.Owner, "", PlainImage([]byte("a plain one")))
	p.Say(bot.ID, bot.Owner, "", File("a.txt", []byte("a file")), Video([]byte("a video")))
	p.Say(bot.ID, bot.Owner, "", Voice([]byte("a voice"), ""))
	v := startVendor(t, p, "talk", bot.Token, bot.Owner)
	for _, content := range []string{"a picture", "a plain one", "a file", "a video", "a voice"} {
		v.says(fmt.Sprintf(`{"file":[%q]}`, content))
	}
	v.says(fmt.Sprintf(`{"body":"look","quotes":"4611686018427387999","from":%q}`, bot.Owner))
	answered := <-v.lines
	v.says(`{"refused":"sendMessage ret=-2 errmsg=prepare failed"}`)
	for line := range v.lines {
		t.Errorf("it says %s as well", line)
	}
	sent := p.Sent()
	if len(sent) != 5 {
		t.Fatalf("sent %+v", sent)
	}
	if want := fmt.Sprintf(`{"first":%q,"second":%q}`, sent[0].MessageID, sent[1].MessageID); answered != want {
		t.Errorf("it says %s, want %s", answered, want)
	}
	if shown := p.Shown(bot.ID, bot.Owner); strings.Join(shown, " ") != "once [] [] [a.txt]" {
		t.Errorf("shown %q", shown)
	}
	for i, want := range []string{"image pixels", "video moves", "file letters"} {
		if s := sent[2+i]; s.Kind+" "+string(s.File.Data) != want {
			t.Errorf("%s: %+v", want, s)
		}
	}
	if typed := p.Typings(); len(typed) != 2 || !typed[1].Ends || p.Running(bot.ID) != 0 || len(p.Requests(Started)) != 1 {
		t.Errorf("typing %+v, running %d", typed, p.Running(bot.ID))
	}
}
