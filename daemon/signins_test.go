package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/daemon/caller"
	"scv/daemon/channel/feishu"
	"scv/daemon/channel/feishu/feishutest"
	"scv/daemon/credential"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
	"scv/wire/bus"
)

// signedIn is a daemon over a home where somebody signs in to a fake platform.
type signedIn struct {
	*started
	home string
	p    *feishutest.Platform
	app  feishutest.App
	chat string
	c    *bus.Client
}

const remoteID = "feishu:default"

func startSignedIn(t *testing.T) *signedIn {
	t.Helper()
	p := feishutest.New(t, feishutest.Options{})
	s := &signedIn{p: p, app: p.App(), home: newHome(t, fmt.Sprintf(`
[agents.cat]
command = ["cat"]
[feishu]
stand_in = %q
[timing]
reconcile = "20ms"
backoff_min = "10ms"
backoff_max = "50ms"
`, p.PlainURL()))}
	s.chat = p.Direct(s.app.ID, s.app.Owner)
	s.save(t, s.app)
	s.begin(t)
	t.Cleanup(func() { s.c.Close(); s.stop() })
	return s
}

func (s *signedIn) begin(t *testing.T) {
	t.Helper()
	s.started = startInProcess(t, s.home, clock.NewVirtual())
	s.c = s.client(caller.Verdict{})
}

func (s *signedIn) save(t *testing.T, app feishutest.App) {
	t.Helper()
	saved, err := feishu.Credentials{AppID: app.ID, AppSecret: app.Secret, Brand: feishu.Brand(app.Brand), OwnerOpenID: app.Owner}.Format()
	if err == nil {
		err = credential.In(s.home).Save("feishu", "default", saved)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *signedIn) health(t *testing.T) (h wire.ComponentHealth, found bool) {
	t.Helper()
	all := s.accounts.Health()
	i := slices.IndexFunc(all, func(h wire.ComponentHealth) bool { return h.ID == remoteID })
	if i < 0 {
		return h, false
	}
	return all[i], true
}

// becomes waits until the account is in a state, with words in its error.
func (s *signedIn) becomes(t *testing.T, state wire.ComponentState, words string) wire.ComponentHealth {
	t.Helper()
	var h wire.ComponentHealth
	await(t, "the account is "+string(state)+" "+words, func() bool {
		h, _ = s.health(t)
		return h.State == state && strings.Contains(text(h.Error), words)
	}, func() string { return fmt.Sprintf("%s, %q", h.State, text(h.Error)) })
	return h
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func await(t *testing.T, what string, ok func() bool, now func() string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s: %s", what, now())
		}
	}
}

// sees waits until the owner has got a message with these words, and gives its id.
func (s *signedIn) sees(t *testing.T, words string) (id string) {
	t.Helper()
	await(t, "a message with "+words, func() bool {
		for _, m := range s.p.Sent() {
			if m.Chat == s.chat && strings.Contains(m.Text, words) {
				id = m.MessageID
				return true
			}
		}
		return false
	}, func() string { return fmt.Sprintf("%+v", s.p.Sent()) })
	return id
}

func (s *signedIn) grant(t *testing.T) {
	t.Helper()
	tools := wire.ToolsOwner
	if _, err := s.c.AccountSet(t.Context(), wire.AccountSet{Channel: "feishu", Account: "default", RemoteTools: &tools}); err != nil {
		t.Fatal(err)
	}
	s.sees(t, "remote_tools is now")
	s.becomes(t, wire.Connected, "")
}

// Whoever signed in before the daemon's first start has an account, for them alone and without tools; with
// tools it answers, asks and takes an answer by quote.
func TestASignedInAccount(t *testing.T) {
	s := startSignedIn(t)
	h := s.becomes(t, wire.Connected, "")
	if text(h.BotID) != s.app.ID || text(h.UserID) != s.app.Owner || h.RemoteTools != wire.ToolsNone || *h.Senders != wire.SendersOwner {
		t.Errorf("health %+v", h)
	}
	await(t, "the local chat hears of it", func() bool { return s.localChatHas(t, "was signed in ("+s.app.ID+")") }, func() string { return "" })
	s.grant(t)
	s.p.Say(s.p.Direct(s.app.ID, "ou_stranger"), "ou_stranger", "let me in")
	said := s.p.Say(s.chat, s.app.Owner, "hello from afar")
	s.sees(t, "hello from afar")
	if !s.p.Acked(said) {
		t.Error("it was answered and not acknowledged")
	}
	status, err := s.c.Control(t.Context(), wire.ConfirmAskCommand{Question: "Deploy?"})
	if err != nil || status.Confirm.Chat != remoteID {
		t.Fatalf("asked: %+v, %v", status.Confirm, err)
	}
	id := status.Confirm.ID
	question := s.sees(t, "Deploy?")
	await(t, "the question is open", func() bool { return s.confirm(t, id).MessageID == question }, func() string { return "" })
	s.p.Say(s.chat, "ou_stranger", "yes", feishutest.Quote(question))
	s.p.Say(s.chat, s.app.Owner, "yes", feishutest.Quote(question), feishutest.At(time.Now().Add(-time.Hour)))
	await(t, "the answer", func() bool { return s.confirm(t, id).State == wire.Yes }, func() string { return string(s.confirm(t, id).State) })
	if r := s.confirm(t, id).Receipt; r.Sender != s.app.Owner {
		t.Errorf("receipt %+v", r)
	}
	for _, m := range s.p.Sent() {
		if m.Chat != s.chat {
			t.Errorf("somebody else was written to: %+v", m)
		}
	}
}

// Only the platform's own times are compared: a clock of ours that is wrong takes nobody's answer away, and
// lets none in that is older than the question.
func TestAnswersUnderASkewedClock(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		s := startSignedIn(t)
		s.p.Skew(skew)
		s.becomes(t, wire.Connected, "")
		status, err := s.c.Control(t.Context(), wire.ConfirmAskCommand{Question: "Deploy?", Parent: nil})
		if err != nil {
			t.Fatal(err)
		}
		id := status.Confirm.ID
		s.sees(t, "Deploy?")
		await(t, "the question is open", func() bool { return !s.confirm(t, id).Opened.IsZero() }, func() string { return "" })
		old := s.p.Say(s.chat, s.app.Owner, "yes", feishutest.At(s.p.Now().Add(-time.Minute)))
		await(t, "the old yes is taken", func() bool { return s.p.Acked(old) }, func() string { return "" })
		if got := s.confirm(t, id).State; got != wire.Pending {
			t.Errorf("skew %v: an old yes makes it %s", skew, got)
		}
		s.p.Say(s.chat, s.app.Owner, "yes")
		await(t, "the answer", func() bool { return s.confirm(t, id).State == wire.Yes }, func() string { return string(s.confirm(t, id).State) })
	}
}

func (s *signedIn) localChatHas(t *testing.T, words string) (found bool) {
	t.Helper()
	err := s.store.View(func(v *store.View) error {
		found = slices.ContainsFunc(v.ChatLines(defaultLocal, 0, 1000), func(row store.ChatLineRow) bool {
			return strings.Contains(row.ChatLine.Text, words)
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (s *signedIn) confirm(t *testing.T, id string) (c store.Confirm) {
	t.Helper()
	err := s.store.View(func(v *store.View) error {
		c, _ = v.Confirm(id)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A dead secret is a matter for the owner, and the new one is used as soon as it is saved. What was written
// meanwhile is not lost.
func TestANewSecret(t *testing.T) {
	s := startSignedIn(t)
	s.becomes(t, wire.Connected, "")
	s.grant(t)
	s.p.Say(s.chat, s.app.Owner, "before")
	s.sees(t, "before")
	s.app.Secret = "another"
	s.p.SetSecret(s.app.ID, s.app.Secret)
	s.p.ExpireTokens()
	s.p.Kick(s.app.ID)
	s.becomes(t, wire.Failed, "scv channels login")
	s.p.Say(s.chat, s.app.Owner, "meanwhile")
	s.save(t, s.app)
	s.becomes(t, wire.Connected, "")
	s.sees(t, "meanwhile")
	tokens := len(s.p.Requests(feishutest.Token))
	if h, _ := s.health(t); h.RemoteTools != wire.ToolsOwner || tokens > 8 {
		t.Errorf("health %+v after %d requests for a token", h, tokens)
	}
}

// Another app's chats and owner are not this one's: nothing runs until the account was logged out, which
// leaves neither credentials nor settings nor a way back.
func TestAnotherIdentity(t *testing.T) {
	s := startSignedIn(t)
	s.becomes(t, wire.Connected, "")
	s.grant(t)
	other := s.p.AddApp(feishutest.App{})
	s.save(t, other)
	s.becomes(t, wire.Failed, "scv channels logout "+remoteID)
	if n := s.p.Sockets(other.ID); n != 0 {
		t.Errorf("%d connections of the other app", n)
	}
	if _, err := s.c.Control(t.Context(), wire.ChannelLogoutCommand{Channel: "feishu", Account: "default"}); err != nil {
		t.Fatal(err)
	}
	if h, found := s.health(t); found {
		t.Errorf("after the log-out: %+v", h)
	}
	if _, err := credential.In(s.home).Load("feishu", "default"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("credentials after the log-out: %v", err)
	}
	s.save(t, other)
	h := s.becomes(t, wire.Connected, "")
	if text(h.UserID) != other.Owner || h.RemoteTools != wire.ToolsNone {
		t.Errorf("signed in again: %+v", h)
	}
}

// What cannot run says why: credentials that are gone, open to others, or unreadable.
func TestUnusableCredentials(t *testing.T) {
	s := startSignedIn(t)
	s.becomes(t, wire.Connected, "")
	if err := credential.In(s.home).Delete("feishu", "default"); err != nil {
		t.Fatal(err)
	}
	s.becomes(t, wire.Failed, "it is not signed in: scv channels login feishu")
	if err := credential.In(s.home).Save("feishu", "default", []byte(`{"app_secret":"s3cret"`)); err != nil {
		t.Fatal(err)
	}
	if h := s.becomes(t, wire.Failed, "cannot be read"); strings.Contains(text(h.Error), "s3cret") {
		t.Errorf("it says %q", text(h.Error))
	}
	s.save(t, s.app)
	s.becomes(t, wire.Connected, "")
	enabled := false
	if _, err := s.c.AccountSet(t.Context(), wire.AccountSet{Channel: "feishu", Account: "default", Enabled: &enabled}); err != nil {
		t.Fatal(err)
	}
	s.becomes(t, wire.Disabled, "")
	s.c.Close()
	s.stop()
	s.begin(t)
	s.becomes(t, wire.Disabled, "") // a saved account that is off stays off
	_, err := s.c.AccountSet(t.Context(), wire.AccountSet{Channel: "feishu", Account: "nobody", Enabled: &enabled})
	if refused, ok := errors.AsType[*wire.Error](err); !ok || refused.Code != wire.ComponentError {
		t.Errorf("an account that nobody signed in: %v", err)
	}
}
