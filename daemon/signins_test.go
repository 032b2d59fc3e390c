package daemon

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"scv/daemon/channel/feishu/feishutest"
	"scv/daemon/credential"
	"scv/wire"
)

// Another app's chats and owner are not this one's: nothing runs until the account was logged out, which
// leaves neither credentials nor settings nor a way back.
func TestAnotherIdentity(t *testing.T) {
	m := newInFeishu(t)
	k := newTalk(t, m)
	k.set(t, wire.ToolsOwner, wire.SendersOwner)
	other := m.p.AddApp(feishutest.App{})
	m.app = other
	must(t, m.signIn(k.home))
	k.becomes(t, wire.Failed, "scv channels logout "+m.id())
	if n := m.p.Sockets(other.ID); n != 0 {
		t.Errorf("%d connections of the other app", n)
	}
	if _, err := k.c.Control(t.Context(), wire.ChannelLogoutCommand{Channel: "feishu", Account: "default"}); err != nil {
		t.Fatal(err)
	}
	if h, found := k.health(t); found {
		t.Errorf("after the log-out: %+v", h)
	}
	if _, err := credential.In(k.home).Load("feishu", "default"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("credentials after the log-out: %v", err)
	}
	must(t, m.signIn(k.home))
	h := k.becomes(t, wire.Connected, "")
	if text(h.UserID) != other.Owner || h.RemoteTools != wire.ToolsNone {
		t.Errorf("signed in again: %+v", h)
	}
}

// What cannot run says why: credentials that are gone, open to others, or unreadable.
func TestUnusableCredentials(t *testing.T) {
	m := newInFeishu(t)
	k := newTalk(t, m)
	if err := credential.In(k.home).Delete("feishu", "default"); err != nil {
		t.Fatal(err)
	}
	k.becomes(t, wire.Failed, "it is not signed in: scv channels login feishu")
	if err := credential.In(k.home).Save("feishu", "default", []byte(`{"app_secret":"s3cret"`)); err != nil {
		t.Fatal(err)
	}
	if h := k.becomes(t, wire.Failed, "cannot be read"); strings.Contains(text(h.Error), "s3cret") {
		t.Errorf("it says %q", text(h.Error))
	}
	must(t, m.signIn(k.home))
	k.becomes(t, wire.Connected, "")
	enabled := false
	if _, err := k.c.AccountSet(t.Context(), wire.AccountSet{Channel: "feishu", Account: "default", Enabled: &enabled}); err != nil {
		t.Fatal(err)
	}
	k.becomes(t, wire.Disabled, "")
	k.finish()
	k.start(t)
	k.becomes(t, wire.Disabled, "") // a saved account that is off stays off
	_, err := k.c.AccountSet(t.Context(), wire.AccountSet{Channel: "feishu", Account: "nobody", Enabled: &enabled})
	if refused, ok := errors.AsType[*wire.Error](err); !ok || refused.Code != wire.ComponentError {
		t.Errorf("an account that nobody signed in: %v", err)
	}
}

// One bot signed in under two names is one too many, for whichever owner: each message would be answered twice, or by
// either. The one that has been it goes on, and settings that the other gets do not turn that around.
func TestOneBotUnderTwoNames(t *testing.T) {
	for name, c := range map[string]struct{ owned, set bool }{
		"of one owner": {owned: true}, "of two": {}, "set by hand": {owned: true, set: true}, "of two, set by hand": {set: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newInFeishu(t)
			k := newTalk(t, m)
			k.becomes(t, wire.Connected, "")
			folder := credential.In(k.home)
			saved, err := folder.Load("feishu", "default")
			must(t, err)
			if !c.owned {
				saved = bytes.ReplaceAll(saved, []byte(m.app.Owner), []byte(feishuStranger))
			}
			must(t, folder.Save("feishu", "another", saved)) // before "default" by name
			if c.set {
				enabled := true
				_, err := k.c.AccountSet(t.Context(), wire.AccountSet{Channel: "feishu", Account: "another", Enabled: &enabled})
				must(t, err)
			}
			_, err = k.c.Control(t.Context(), wire.ReloadCommand{})
			must(t, err)
			status, err := k.c.Control(t.Context(), wire.StatusCommand{})
			must(t, err)
			states := map[string]wire.ComponentState{}
			for _, h := range status.Components {
				states[h.ID] = h.State
				if h.ID == "feishu:another" && !strings.Contains(text(h.Error), "scv channels logout feishu:another") {
					t.Errorf("it says %q", text(h.Error))
				}
			}
			if states["feishu:another"] != wire.Failed || states["feishu:default"] != wire.Connected {
				t.Errorf("states %v", states)
			}
		})
	}
}

// Who leaves is asked nothing any more, and whoever signs in next has not been asked.
func TestLogOutEndsQuestions(t *testing.T) {
	m := newInFeishu(t)
	k := newTalk(t, m)
	k.becomes(t, wire.Connected, "")
	asked, err := k.c.Control(t.Context(), wire.ConfirmAskCommand{Question: "Deploy?"})
	must(t, err)
	_, err = k.c.Control(t.Context(), wire.ChannelLogoutCommand{Channel: "feishu", Account: "default"})
	must(t, err)
	ended, err := k.c.Control(t.Context(), wire.ConfirmStatusCommand{ID: asked.Confirm.ID})
	must(t, err)
	if ended.Confirm.State != wire.Withdrawn {
		t.Errorf("the question is %s", ended.Confirm.State)
	}
}
