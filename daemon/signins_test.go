package daemon

import (
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
