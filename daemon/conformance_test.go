package daemon

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"scv/store"
	"scv/wire"
)

// rule is what holds on every platform that knows of what it is about. What an adapter must hold by itself is in
// daemon/channel/channeltest.
type rule struct {
	name  string
	needs func(abilities) bool // nil: nothing
	run   func(*testing.T, *talk)
}

var rules = []rule{
	{"who is answered, where and with which grant", nil, matrix},
	{"a question is answered by its owner alone", nil, answered},
	{"several questions at a time", nil, several},
	{"a question that ends without an answer", nil, unanswered},
	{"a question over another start", nil, askedOverAStart},
	{"a question that the platform refuses", func(can abilities) bool { return can.others }, askedInVain},
	{"answers under a clock that is wrong", func(can abilities) bool { return can.past }, answeredBySkewedClock},
	{"an account that was signed in", func(can abilities) bool { return can.sessions }, signedIn},
	{"a sign-in that ends, and another", func(can abilities) bool { return can.sessions }, signedInAgain},
}

// TestEveryChannel holds every channel to every rule, through a whole daemon and a platform on loopback.
func TestEveryChannel(t *testing.T) {
	for name, platform := range map[string]func(t *testing.T) messenger{
		"local":  func(*testing.T) messenger { return &onThisMachine{} },
		"feishu": func(t *testing.T) messenger { return newInFeishu(t) },
		"wechat": func(t *testing.T) messenger { return newInWeChat(t) },
	} {
		for _, r := range rules {
			t.Run(name+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				m := platform(t)
				if r.needs != nil && !r.needs(m.can()) {
					return // the platform knows of nothing like it
				}
				r.run(t, newTalk(t, m))
			})
		}
	}
}

// matrix has everybody write everywhere under all settings. Whoever is not to be answered gets not a word.
func matrix(t *testing.T, k *talk) {
	lines, senders := []line{{}}, []wire.Senders{wire.SendersOwner}
	if can := k.m.can(); can.others {
		senders = append(senders, wire.SendersAnyone)
		lines = append(lines, line{stranger: true}, line{group: true, mention: true}, line{stranger: true, group: true, mention: true})
		if can.mentions {
			lines = append(lines, line{group: true}, line{stranger: true, group: true})
		}
	}
	for _, tools := range []wire.RemoteTools{wire.ToolsNone, wire.ToolsOwner} {
		for _, who := range senders {
			k.set(t, tools, who)
			ids := map[string]line{}
			for _, l := range lines {
				l.text = fmt.Sprintf("%s to %s in line %d", tools, who, len(ids))
				ids[k.says(t, l)] = l
			}
			k.settled(t)
			for id, l := range ids {
				k.answers(t, id, l, tools, who)
			}
		}
	}
}

// answers looks at what became of a message.
func (k *talk) answers(t *testing.T, id string, l line, tools wire.RemoteTools, who wire.Senders) {
	t.Helper()
	want, how := 1, "none: "
	if l.stranger && who == wire.SendersOwner || l.group && !l.mention {
		want = 0
	}
	if !l.stranger && !l.group && tools == wire.ToolsOwner {
		how = "tools: "
	}
	got := 0
	for _, h := range k.m.heard(t, k) {
		if h.replyTo != id && !strings.Contains(h.text, l.text) {
			continue
		}
		got++
		if h.replyTo != id || !strings.HasPrefix(h.text, how) || h.group != l.group || h.stranger != (l.stranger && !l.group) {
			t.Errorf("%+v is answered by %+v, want %s", l, h, how)
		}
	}
	if got != want {
		t.Errorf("%+v got %d answers, want %d", l, got, want)
	}
}

// asks has a script ask, and waits until its question is open before the owner's eyes, and nobody else's.
func (k *talk) asks(t *testing.T, question string) store.Confirm {
	t.Helper()
	status, err := k.c.Control(t.Context(), wire.ConfirmAskCommand{Question: question})
	must(t, err)
	if status.Confirm.Chat != k.m.id() {
		t.Errorf("asked in %s", status.Confirm.Chat)
	}
	id := status.Confirm.ID
	k.sees(t, question)
	await(t, "the question is open", func() bool { return !k.confirm(t, id).Opened.IsZero() }, func() string { return "" })
	if all := k.with(t, question); len(all) != 1 || all[0].stranger || all[0].group {
		t.Errorf("the question is seen as %+v", all)
	}
	return k.confirm(t, id)
}

// ends waits until a question has ended so, and the owner, alone and once, has heard of it.
func (k *talk) ends(t *testing.T, id string, state wire.ConfirmState, words string) store.Confirm {
	t.Helper()
	await(t, "the question is "+string(state), func() bool { return k.confirm(t, id).State == state }, func() string { return string(k.confirm(t, id).State) })
	c := k.confirm(t, id)
	told := words + ": " + c.Code
	k.sees(t, told)
	k.settled(t)
	if all := k.with(t, told); len(all) != 1 || all[0].stranger || all[0].group {
		t.Errorf("its end is told as %+v", all)
	}
	return c
}

func (k *talk) stillWaits(t *testing.T, id, after string) {
	t.Helper()
	if got := k.confirm(t, id).State; got != wire.Pending {
		t.Fatalf("%s makes it %s", after, got)
	}
}

func answered(t *testing.T, k *talk) {
	k.set(t, wire.ToolsOwner, wire.SendersAnyone)
	for n, c := range []struct {
		text   string
		quoted bool
		state  wire.ConfirmState
		told   string
	}{
		{"是", false, wire.Yes, "Going ahead"},
		{"No!", false, wire.No, "Stopped"},
		{"yes CODE", false, wire.Yes, "Going ahead"},
		{"no", true, wire.No, "Stopped"},
	} {
		if c.quoted && !k.m.can().quotes {
			continue
		}
		q := k.asks(t, fmt.Sprintf("Deploy %d?", n))
		k.wrongAnswers(t, q)
		l := line{text: strings.ReplaceAll(c.text, "CODE", q.Code)}
		if c.quoted { // which is an answer to this question, whenever it was written
			l.quotes, l.at = q.MessageID, -time.Hour
		}
		id := k.says(t, l)
		r := k.ends(t, q.ID, c.state, c.told).Receipt
		if r == nil || r.Sender != k.m.owner() || r.MessageID != id || r.Chat != k.m.id() {
			t.Errorf("the receipt of %q is %+v", c.text, r)
		}
		k.says(t, line{text: "no " + q.Code})
		if got := k.confirm(t, q.ID).State; got != c.state {
			t.Errorf("a second answer makes it %s", got)
		}
	}
}

// Of several open questions a bare word answers none, a code the one it names, and a quote the one quoted.
func several(t *testing.T, k *talk) {
	first, second, third := k.asks(t, "Deploy?"), k.asks(t, "Delete?"), k.asks(t, "Publish?")
	k.says(t, line{text: "是"})
	k.sees(t, "Several questions are open, so nothing was answered")
	for _, q := range []store.Confirm{first, second, third} {
		k.stillWaits(t, q.ID, "a bare word")
	}
	k.says(t, line{text: "不要 " + second.Code})
	k.ends(t, second.ID, wire.No, "Stopped")
	l := line{text: "yes " + third.Code}
	if k.m.can().quotes {
		l = line{text: "是。", quotes: third.MessageID}
	}
	k.says(t, l)
	k.ends(t, third.ID, wire.Yes, "Going ahead")
	k.stillWaits(t, first.ID, "an answer to others")
	k.says(t, line{text: "yes " + first.Code})
	k.ends(t, first.ID, wire.Yes, "Going ahead")
}

// wrongAnswers are those of others, elsewhere, and from before the question.
func (k *talk) wrongAnswers(t *testing.T, q store.Confirm) {
	t.Helper()
	can := k.m.can()
	if can.past {
		k.says(t, line{text: "yes", at: -time.Minute})
		k.stillWaits(t, q.ID, "a yes from before")
	}
	if !can.others {
		return
	}
	for _, l := range []line{{stranger: true}, {stranger: true, group: true, mention: true}, {group: true, mention: true}} {
		for _, l.quotes = range []string{"", q.MessageID} {
			l.text = "yes " + q.Code
			k.says(t, l)
			k.stillWaits(t, q.ID, fmt.Sprintf("%+v", l))
		}
	}
}

// A withdrawn and an expired question are told of, and a late answer is caught: it is no task either.
func unanswered(t *testing.T, k *talk) {
	for name, c := range map[string]struct {
		end   func(id string)
		state wire.ConfirmState
		told  string
	}{
		"withdrawn": {func(id string) {
			_, err := k.c.ConfirmWithdraw(t.Context(), id)
			must(t, err)
		}, wire.Withdrawn, "No longer asked, an answer does not count any more"},
		"expired": {func(string) { k.clk.Suspend(time.Hour) }, wire.Expired, "No answer in time, which counts as no"},
	} {
		q := k.asks(t, name+"?")
		c.end(q.ID)
		k.ends(t, q.ID, c.state, c.told)
		late := k.says(t, line{text: "yes " + q.Code})
		k.sees(t, "The question "+q.Code+" has ended already")
		k.settled(t)
		if after := k.confirm(t, q.ID); after.State != c.state || after.Receipt != nil {
			t.Errorf("a late yes to what was %s: %+v", name, after)
		}
		for _, h := range k.m.heard(t, k) {
			if h.replyTo == late && strings.Contains(h.text, "tools: ") {
				t.Errorf("a late yes is a task: %+v", h)
			}
		}
	}
}

func askedOverAStart(t *testing.T, k *talk) {
	q := k.asks(t, "Deploy?")
	k.again(t)
	k.says(t, line{text: "yes"})
	k.ends(t, q.ID, wire.Yes, "Going ahead")
	k.again(t)
	k.settled(t)
	for _, words := range []string{"scv confirm ", "Going ahead"} {
		if all := k.with(t, words); len(all) > 1 {
			t.Errorf("seen %d times: %+v", len(all), all)
		}
	}
}

// What nobody could see ends at once, and a yes after it is an ordinary message.
func askedInVain(t *testing.T, k *talk) {
	k.set(t, wire.ToolsOwner, wire.SendersOwner)
	k.m.refuse()
	status, err := k.c.Control(t.Context(), wire.ConfirmAskCommand{Question: "Deploy?"})
	must(t, err)
	id := status.Confirm.ID
	await(t, "the end of the question", func() bool { return k.confirm(t, id).State == wire.NotAsked }, func() string { return string(k.confirm(t, id).State) })
	k.says(t, line{text: "yes"})
	k.sees(t, "tools: yes")
	if all := k.with(t, "Deploy?"); len(all) > 0 {
		t.Errorf("it is seen: %+v", all)
	}
}

// Only the platform's own times are compared: a clock of ours that is wrong takes nobody's answer away, and
// lets none in that is older than the question.
func answeredBySkewedClock(t *testing.T, k *talk) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		k.m.skew(skew)
		q := k.asks(t, fmt.Sprintf("Deploy at %v?", skew))
		k.says(t, line{text: "yes", at: -time.Minute})
		k.stillWaits(t, q.ID, "an old yes")
		k.says(t, line{text: "yes", at: 2 * time.Second}) // the time of an HTTP answer counts whole seconds
		k.ends(t, q.ID, wire.Yes, "Going ahead")
	}
}

// Whoever signed in before the daemon's first start has an account, for them alone and without tools, and the
// owner's other chats hear of it.
func signedIn(t *testing.T, k *talk) {
	h, _ := k.health(t)
	if text(h.BotID) != k.m.bot() || text(h.UserID) != k.m.owner() || h.RemoteTools != wire.ToolsNone || *h.Senders != wire.SendersOwner {
		t.Errorf("health %+v", h)
	}
	await(t, "the local chat hears of it", func() bool { return k.localChatHas(t, "was signed in ("+k.m.bot()+")") }, func() string { return "" })
}

// A sign-in that is no good any more is a matter for the owner: the account says so, another chat does, and nobody
// is asked again and again. What was promised and what was written meanwhile is answered once after the next one.
func signedInAgain(t *testing.T, k *talk) {
	k.set(t, wire.ToolsOwner, wire.SendersOwner)
	k.says(t, line{text: "at first"})
	k.sees(t, "tools: at first")
	must(t, os.WriteFile(k.hold, nil, 0o600))
	ids := map[string]string{k.says(t, line{text: "promised"}): "tools: promised"}
	k.m.end()
	channel, _, _ := strings.Cut(k.m.id(), ":")
	k.becomes(t, wire.Failed, "scv channels login")
	await(t, "another chat hears of it", func() bool { return k.localChatHas(t, k.m.id()+" does not run any more") }, func() string { return "" })
	if !k.localChatHas(t, "scv channels login "+channel) {
		t.Error("the other chat is not told what to do")
	}
	must(t, os.Remove(k.hold))
	await(t, "the agent ends", func() (ended bool) {
		must(t, k.store.View(func(v *store.View) error { ended = len(v.AllClaims()) == 0; return nil }))
		return ended
	}, func() string { return "it does not" })
	k.isLeftAlone(t)
	ids[k.m.say(t, k, line{text: "meanwhile"})] = "tools: meanwhile"
	k.m.renew()
	must(t, k.m.signIn(k.home))
	k.becomes(t, wire.Connected, "")
	for _, want := range ids {
		k.sees(t, want)
	}
	k.settled(t)
	for id, want := range ids {
		if all := k.with(t, want); len(all) != 1 || all[0].replyTo != id {
			t.Errorf("%q is seen as %+v", want, all)
		}
	}
	if h, _ := k.health(t); h.RemoteTools != wire.ToolsOwner {
		t.Errorf("signed in again: %+v", h)
	}
}

// isLeftAlone holds that an account which failed asks its platform for nothing while many passes go over it, and
// many times the longest pause between two attempts.
func (k *talk) isLeftAlone(t *testing.T) {
	t.Helper()
	before := k.m.asked()
	status, err := k.c.Control(t.Context(), wire.ConfirmAskCommand{Question: "is anybody there?"})
	var refused *wire.Error
	if !errors.As(err, &refused) {
		t.Errorf("asked through it: %+v, %v", status.Confirm, err)
	}
	for range 50 {
		must(t, k.accounts.Sync(t.Context()))
	}
	timer := time.NewTimer(500 * time.Millisecond) // ten of them: there is nothing else to wait for
	defer timer.Stop()
	<-timer.C
	if h, _ := k.health(t); h.State != wire.Failed || k.m.asked() != before {
		t.Errorf("%+v, after %d more requests", h, k.m.asked()-before)
	}
}
