package feishu

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"scv/daemon/channel/feishu/feishutest"
)

// signInBy begins a sign-in with a short second, and waits for its end.
func signInBy(t *testing.T, p *feishutest.Platform, want Brand) (link string, moved []Brand, c Credentials, err error) {
	t.Helper()
	s, err := BeginSignIn(t.Context(), p.Client(), Public, want)
	if err != nil {
		return "", nil, c, err
	}
	s.unit, s.poll = time.Millisecond, 5*time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c, err = s.Await(ctx, func(b Brand) { moved = append(moved, b) })
	return s.Link, moved, c, err
}

func TestSignIn(t *testing.T) {
	pending := feishutest.Poll{Error: "authorization_pending"}
	p := feishutest.New(t, feishutest.Options{})
	p.PlanSignIn(feishutest.SignIn{UserCode: "AB-12", Polls: []feishutest.Poll{
		pending, {Error: "slow_down"}, {Status: 503}, {Cut: true}, {}, pending,
	}})
	for _, status := range []int{408, 429} { // to polls: two requests begin it all
		p.Inject(feishutest.Fault{Route: feishutest.Registration, Status: status, Body: "<html>", Skip: 2})
	}
	link, moved, c, err := signInBy(t, p, Feishu)
	apps := p.Apps()
	made := apps[len(apps)-1]
	if err != nil || c != (Credentials{AppID: made.ID, AppSecret: made.Secret, Brand: Feishu, OwnerOpenID: made.Owner}) {
		t.Fatalf("got %v, %v", c.AppID, err)
	}
	if link != "https://open.feishu.cn/page/cli?user_code=AB-12" || len(moved) != 0 {
		t.Errorf("link %s, moved %v", link, moved)
	}
	if err := CheckSecret(t.Context(), p.Client(), Public(c.Brand), c); err != nil {
		t.Errorf("the secret: %v", err)
	}
	c.AppSecret = "wrong"
	if err := CheckSecret(t.Context(), p.Client(), Public(c.Brand), c); !errors.Is(err, ErrSecret) {
		t.Errorf("a wrong secret: %v", err)
	}
}

// Who scans decides the brand, not who asks: the credentials are that brand's, from its own host.
func TestSignInGoesOverToLark(t *testing.T) {
	p := feishutest.New(t, feishutest.Options{})
	p.PlanSignIn(feishutest.SignIn{App: feishutest.App{Brand: feishutest.Lark}})
	link, moved, c, err := signInBy(t, p, Lark)
	if err != nil || c.Brand != Lark || len(moved) != 1 || moved[0] != Lark {
		t.Errorf("brand %s, moved %v, %v", c.Brand, moved, err)
	}
	if !strings.HasPrefix(link, "https://open.larksuite.com/") {
		t.Errorf("link %s", link)
	}
	p.PlanSignIn(feishutest.SignIn{Polls: []feishutest.Poll{{Brand: "lark", Error: "authorization_pending"}, {Brand: "feishu"}}})
	if _, _, _, err := signInBy(t, p, Feishu); err == nil || !strings.Contains(err.Error(), "and back") {
		t.Errorf("sent to and fro: %v", err)
	}
}

func TestSignInThatEndsOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		plan feishutest.SignIn
		is   error
		says string
	}{
		"declined":       {feishutest.SignIn{Polls: []feishutest.Poll{{Error: "access_denied"}}}, ErrDeclined, ""},
		"expired":        {feishutest.SignIn{Polls: []feishutest.Poll{{Error: "expired_token"}}}, ErrCodeExpired, ""},
		"unknown device": {feishutest.SignIn{Polls: []feishutest.Poll{{Error: "invalid_grant"}}}, ErrCodeExpired, ""},
		"never scanned":  {feishutest.SignIn{Expires: 1, Last: &feishutest.Poll{Error: "authorization_pending"}}, ErrCodeExpired, ""},
		"unknown error":  {feishutest.SignIn{Polls: []feishutest.Poll{{Error: "no\x1b[2J_way"}}}, nil, "sign-in: no2J_way"},
		"another method": {feishutest.SignIn{Methods: []string{"private_key_jwt"}}, nil, "newer scv"},
		"odd code":       {feishutest.SignIn{UserCode: "a&b"}, nil, "no code"},
	} {
		t.Run(name, func(t *testing.T) {
			p := feishutest.New(t, feishutest.Options{})
			p.PlanSignIn(c.plan)
			_, _, got, err := signInBy(t, p, Feishu)
			if err == nil || got != (Credentials{}) || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// An app that nobody is known to own is saved all the same; it answers nobody.
func TestSignInWithoutAnOwner(t *testing.T) {
	p := feishutest.New(t, feishutest.Options{})
	p.PlanSignIn(feishutest.SignIn{Nobody: true})
	if _, _, c, err := signInBy(t, p, Feishu); err != nil || c.AppID == "" || c.OwnerOpenID != "" {
		t.Errorf("got %+v, %v", c, err)
	}
}
