package daemon

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"scv/daemon/channel/wechat/wechattest"
	"scv/wire"
)

// What WeChat refuses is refused on that message's token for good: it goes along with the next answer, on that one's.
// While an agent works, the chat shows somebody writing, and no line that would need a token of its own.
func TestARefusedReplyRidesAlong(t *testing.T) {
	m := newInWeChat(t)
	k := newTalk(t, m, "[turns]\nprogress = \"10ms\"")
	k.set(t, wire.ToolsOwner, wire.SendersOwner)
	p := m.p
	before := len(p.Requests(wechattest.Send))
	p.Inject(wechattest.Fault{Route: wechattest.Send, Ret: -2, Msg: "prepare failed"})
	k.says(t, line{text: "the first words"})
	await(t, "the refusal", func() bool { return len(p.Requests(wechattest.Send)) > before }, func() string { return "nothing was sent" })
	if err := os.WriteFile(k.hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second := k.says(t, line{text: "the second words"})
	await(t, "a sign of typing", func() bool { return len(p.Typings()) > 0 }, func() string { return "none" })
	if err := os.Remove(k.hold); err != nil {
		t.Fatal(err)
	}
	h := k.sees(t, "the first words")
	if h.replyTo != second || !strings.HasSuffix(h.text, "the second words") {
		t.Errorf("it came as %+v", h)
	}
	// What is ours in it is in blocks, and what is the agent's is not.
	var ours []string
	for i, piece := range strings.Split(h.text, "```\n") {
		if i%2 == 1 {
			ours = append(ours, piece)
		}
	}
	if all := strings.Join(ours, ""); strings.Count(all, "system msg: ") != 2 || strings.Contains(all, "words") {
		t.Errorf("ours are %q of %q", ours, h.text)
	}
	await(t, "the end of typing", func() bool { all := p.Typings(); return all[len(all)-1].Ends }, func() string { return fmt.Sprintf("%+v", p.Typings()) })
	for _, m := range p.Sent() {
		if strings.Contains(m.Text, "is at work") {
			t.Errorf("a line of progress: %+v", m)
		}
	}
	if n := len(p.Requests(wechattest.Send)) - before; n != 2 {
		t.Errorf("%d sends", n)
	}
}
