package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rsc.io/qr"

	"scv/daemon/channel/feishu/feishutest"
	"scv/wire"
)

// newPlatform is a home whose Feishu is a fake one.
func newPlatform(t *testing.T) (home string, p *feishutest.Platform) {
	t.Helper()
	home, p = newHome(t), feishutest.New(t, feishutest.Options{})
	writeConfig(t, home, fmt.Sprintf("[feishu]\nstand_in = %q\n[timing]\nreconcile = \"20ms\"\nbackoff_min = \"20ms\"\n", p.PlainURL()))
	return home, p
}

func credentialFile(home, account string) string {
	return filepath.Join(home, "credentials", "feishu", account+".json")
}

// Somebody signs in where no daemon ever ran, starts one, and has their account.
func TestLoginBeforeTheFirstStart(t *testing.T) {
	home, p := newPlatform(t)
	got := at(t, home).scv("channels", "login", "feishu")
	apps := p.Apps()
	made := apps[len(apps)-1]
	if got.code != 0 || !strings.Contains(got.out, "signed in feishu:default as the app "+made.ID) || !strings.Contains(got.out, "no daemon is running") {
		t.Fatalf("got %+v", got)
	}
	if !strings.Contains(got.out, "/page/cli?user_code=ABCD-1234") || !strings.Contains(got.out, "█") {
		t.Errorf("there is no code to scan in %s", got.out)
	}
	info, err := os.Stat(credentialFile(home, "default"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("credentials: %v, %v", info, err)
	}
	d := startDaemon(t, home)
	h := d.component(t, "feishu:default", wire.Connected)
	if *h.BotID != made.ID || *h.UserID != made.Owner {
		t.Errorf("health %+v", h)
	}
	again := at(t, home).scv("channels", "login", "feishu")
	if again.code != exitFailed || !strings.Contains(again.errOut, "signed in already") || !strings.Contains(again.errOut, "channels logout feishu:default") {
		t.Errorf("a second time: %+v", again)
	}
	if strings.Contains(got.out+got.errOut+again.errOut+d.log(), made.Secret) {
		t.Error("the secret is shown")
	}
	d.terminate(t)
}

// A daemon that runs uses a new account at once, and a new secret as well.
func TestLoginBesideADaemon(t *testing.T) {
	home, p := newPlatform(t)
	d := startDaemon(t, home)
	p.PlanSignIn(feishutest.SignIn{App: feishutest.App{Brand: feishutest.Lark}, Interval: 1})
	got := at(t, home).scv("channels", "login", "lark", "--account", "work")
	if got.code != 0 || !strings.Contains(got.errOut, "you use Lark") || !strings.Contains(got.out, "feishu:work") {
		t.Fatalf("got %+v", got)
	}
	d.component(t, "feishu:work", wire.Connected)
	apps := p.Apps()
	app := apps[len(apps)-1]
	p.SetSecret(app.ID, "another")
	p.ExpireTokens()
	p.Kick(app.ID)
	d.component(t, "feishu:work", wire.Failed)
	hand := at(t, home)
	hand.stdin = "another\n"
	got = hand.scv("channels", "login", "lark", "--account", "work", "--app-id", app.ID)
	if got.code != 0 || strings.Contains(got.out+got.errOut, "another") {
		t.Fatalf("got %+v", got)
	}
	if h := d.component(t, "feishu:work", wire.Connected); *h.UserID != app.Owner {
		t.Errorf("its owner is now %s", *h.UserID)
	}
	d.terminate(t)
}

// What cannot be saved is not, and a person reads why.
func TestLoginThatFails(t *testing.T) {
	home, p := newPlatform(t)
	app := p.App()
	for name, c := range map[string]struct {
		args, stdin string
		plan        feishutest.SignIn
		code        int
		says        string
	}{
		"declined":        {args: "feishu", plan: feishutest.SignIn{Polls: []feishutest.Poll{{Error: "access_denied"}}}, code: exitFailed, says: "declined"},
		"expired":         {args: "feishu", plan: feishutest.SignIn{Polls: []feishutest.Poll{{Error: "expired_token"}}}, code: exitFailed, says: "not scanned in time"},
		"bad name":        {args: "feishu --account a/b", code: exitUsage, says: "cannot be an account"},
		"another channel": {args: "telegram", code: exitUsage, says: "feishu"},
		"owner of a scan": {args: "feishu --owner-open-id ou_1", code: exitUsage, says: "--app-id"},
		"no app id":       {args: "feishu --app-id x", stdin: "s", code: exitUsage, says: "cli_"},
		"no secret":       {args: "feishu --app-id " + app.ID, code: exitUsage, says: "no secret"},
		"wrong secret":    {args: "feishu --app-id " + app.ID, stdin: "s3cret\n", code: exitFailed, says: "does not take"},
		"no owner's id":   {args: "feishu --owner-open-id x --app-id " + app.ID, stdin: app.Secret, code: exitUsage, says: "open_id"},
	} {
		t.Run(name, func(t *testing.T) {
			p.PlanSignIn(c.plan)
			hand := at(t, home)
			hand.stdin = c.stdin
			got := hand.scv(append([]string{"channels", "login"}, strings.Fields(c.args)...)...)
			if got.code != c.code || !strings.Contains(got.errOut, c.says) || strings.Contains(got.errOut, "s3cret") {
				t.Errorf("got %+v", got)
			}
			if _, err := os.Stat(filepath.Dir(credentialFile(home, "default"))); err == nil {
				t.Error("something was saved")
			}
		})
	}
}

// An app that exists keeps its owner with a new secret, and nobody else takes its account.
func TestLoginAsAnExistingApp(t *testing.T) {
	home, p := newPlatform(t)
	app, other := p.App(), p.AddApp(feishutest.App{})
	login := func(secret string, args ...string) result {
		hand := at(t, home)
		hand.stdin = secret
		return hand.scv(append([]string{"channels", "login", "feishu", "--app-id"}, args...)...)
	}
	if got := login(app.Secret, app.ID); got.code != 0 || !strings.Contains(got.errOut, "nobody is known to own") {
		t.Errorf("without an owner: %+v", got)
	}
	if err := os.Remove(credentialFile(home, "default")); err != nil {
		t.Fatal(err)
	}
	if got := login(app.Secret, app.ID, "--owner-open-id", app.Owner); got.code != 0 || strings.Contains(got.errOut, "nobody") {
		t.Errorf("with an owner: %+v", got)
	}
	for what, args := range map[string][]string{
		"another app": {other.ID}, "another owner": {app.ID, "--owner-open-id", "ou_x"},
	} {
		if got := login(other.Secret, args...); got.code != exitFailed || !strings.Contains(got.errOut, "channels logout feishu:default") {
			t.Errorf("%s: %+v", what, got)
		}
	}
	p.SetSecret(app.ID, "rotated")
	if got := login("rotated", app.ID); got.code != 0 {
		t.Errorf("a new secret: %+v", got)
	}
	saved, err := os.ReadFile(credentialFile(home, "default"))
	if err != nil || !strings.Contains(string(saved), "rotated") || !strings.Contains(string(saved), app.Owner) {
		t.Errorf("saved %s, %v", saved, err)
	}
}

// One app has one account: the second is refused before its secret is asked for, whoever owns it there, and is told
// which account has it.
func TestLoginOfAnAppThatHasAnAccount(t *testing.T) {
	home, p := newPlatform(t)
	app := p.App()
	login := func(args ...string) result {
		hand := at(t, home)
		hand.stdin = app.Secret
		return hand.scv(append([]string{"channels", "login", "feishu", "--app-id", app.ID}, args...)...)
	}
	if got := login("--account", "work", "--owner-open-id", app.Owner); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	asked := len(p.Requests(feishutest.Token))
	for _, owner := range []string{app.Owner, "ou_x"} {
		got := login("--owner-open-id", owner)
		if got.code != exitFailed || !strings.Contains(got.errOut, app.ID+" is feishu:work already") ||
			!strings.Contains(got.errOut, "channels login feishu --account work --app-id "+app.ID) || !strings.Contains(got.errOut, "channels logout feishu:work") {
			t.Errorf("got %+v", got)
		}
	}
	if _, err := os.Stat(credentialFile(home, "default")); err == nil || len(p.Requests(feishutest.Token)) != asked {
		t.Errorf("something was saved, or the platform was asked: %v", err)
	}
	if got := login("--account", "work"); got.code != 0 {
		t.Errorf("the account itself: %+v", got)
	}
	if err := os.WriteFile(credentialFile(home, "work"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := login("--owner-open-id", app.Owner); got.code != 0 {
		t.Errorf("beside credentials that cannot be read: %+v", got)
	}
}

// Whoever owns an account is asked questions there, so an agent must not make one.
func TestAnAgentCannotLogIn(t *testing.T) {
	home, _ := newPlatform(t)
	hand := at(t, home)
	hand.env["SCV_PARENT"] = "a1b2c3d4/claude-aaaaaa"
	if got := hand.scv("channels", "login", "feishu"); got.code != exitFailed || !strings.Contains(got.errOut, "an agent cannot sign in") {
		t.Errorf("got %+v", got)
	}
}

// The code in the terminal is the code: read back module by module.
func TestTheCodeIsDrawnWhole(t *testing.T) {
	code, err := qr.Encode("https://open.feishu.cn/page/cli?user_code=ABCD-1234", qr.L)
	if err != nil {
		t.Fatal(err)
	}
	rows := halfBlocks(code.Size, code.Black)
	for y := -quietZone; y < code.Size+quietZone; y++ {
		row := []rune(rows[(y+quietZone)/2])
		for x := -quietZone; x < code.Size+quietZone; x++ {
			drawn := row[x+quietZone]
			black := drawn == '█' || drawn == '▀' && (y+quietZone)%2 == 0 || drawn == '▄' && (y+quietZone)%2 == 1
			if black != code.Black(x, y) {
				t.Fatalf("module %d,%d is %q", x, y, drawn)
			}
		}
	}
}

// component waits until an account is in a state.
func (d *daemonProcess) component(t *testing.T, id string, state wire.ComponentState) (h wire.ComponentHealth) {
	t.Helper()
	c := d.client(t)
	until(t, "the account "+id+" is "+string(state), func() bool {
		status, err := c.Control(t.Context(), wire.StatusCommand{})
		if err != nil {
			return false
		}
		for _, h = range status.Components {
			if h.ID == id && h.State == state {
				return true
			}
		}
		return false
	})
	return h
}
