package wechat

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/daemon/channel/wechat/wechattest"
)

// signed is how a sign-in went.
type signed struct {
	c       Credentials
	err     error
	links   []string
	scanned int
	wrong   []bool // of the questions for the number
}

// signIn runs one with short pauses. The person types these numbers.
func signIn(t *testing.T, p *wechattest.Platform, o SignIn, numbers ...string) (r signed) {
	t.Helper()
	o.HTTP, o.pause = p.Client(), time.Millisecond
	o.Show = func(link string, renewed bool) {
		if r.links = append(r.links, link); renewed != (len(r.links) > 1) {
			t.Errorf("code %d: renewed %v", len(r.links), renewed)
		}
	}
	o.Scanned = func() { r.scanned++ }
	o.Number = func(_ context.Context, wrong bool) (string, error) {
		r.wrong = append(r.wrong, wrong)
		if len(numbers) < len(r.wrong) {
			return "", errors.New("nobody types any more")
		}
		return numbers[len(r.wrong)-1], nil
	}
	r.c, r.err = o.Run(t.Context())
	return r
}

func TestSignIn(t *testing.T) {
	p := wechattest.New(t, wechattest.Options{})
	p.PlanSignIn(wechattest.SignIn{Statuses: []wechattest.Status{
		{Name: "wait"}, {Status: 502}, {Cut: true}, {Name: "something newer"}, {Name: "scaned"}, {Name: "scaned"},
	}})
	r := signIn(t, p, SignIn{})
	made := p.Bots()[1]
	if want := (Credentials{Token: made.Token, BaseURL: publicAPI, BotID: made.ID, UserID: made.Owner}); r.err != nil || r.c != want {
		t.Fatalf("got %+v, %v", r.c, r.err)
	}
	if len(r.links) != 1 || !strings.HasPrefix(r.links[0], "https://liteapp.weixin.qq.com/") || r.scanned != 1 || r.wrong != nil {
		t.Errorf("the person is told %+v", r)
	}
	saved, err := r.c.Format()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Parse(saved); err != nil || again != r.c {
		t.Errorf("saved as %s: %+v, %v", saved, again, err)
	}
}

// The platform may move a sign-in to the host of the person's region, and nobody may move it elsewhere.
func TestSignInMoves(t *testing.T) {
	const region = "sh-ilinkai.weixin.qq.com"
	p := wechattest.New(t, wechattest.Options{})
	p.PlanSignIn(wechattest.SignIn{
		Statuses: []wechattest.Status{{Name: "scaned_but_redirect"}, {Name: "scaned_but_redirect", Host: region}}, BaseURL: "https://" + region + "/",
	})
	if r := signIn(t, p, SignIn{}); r.err != nil || r.c.BaseURL != "https://"+region || r.scanned != 1 {
		t.Errorf("to the region: %+v", r)
	}
	asked := p.Requests(wechattest.QRStatus)
	if last := asked[len(asked)-1]; last.Host != region {
		t.Errorf("the last question went to %s", last.Host)
	}
	for _, host := range []string{"evil.example", "weixin.qq.com.evil.example", "evilweixin.qq.com", "user@" + region, region + ":8443", region + "/x"} {
		dialed := len(p.Dialed())
		p.PlanSignIn(wechattest.SignIn{Statuses: []wechattest.Status{{Name: "scaned_but_redirect", Host: host}}})
		if r := signIn(t, p, SignIn{}); r.err == nil || r.c != (Credentials{}) || !strings.Contains(r.err.Error(), "not its own") {
			t.Errorf("moved to %s: %+v", host, r)
		}
		if got := slices.Compact(slices.Sorted(slices.Values(p.Dialed()[dialed:]))); !slices.Equal(got, []string{"ilinkai.weixin.qq.com"}) {
			t.Errorf("moved to %s: dialed %q", host, got)
		}
	}
	for _, base := range []string{"http://" + region, "https://evil.example", "https://" + region + "/path", "https://" + region + ":444", "https://u@" + region, "https://" + region + "?q=1"} {
		p.PlanSignIn(wechattest.SignIn{BaseURL: base})
		if r := signIn(t, p, SignIn{}); r.err == nil || r.c != (Credentials{}) {
			t.Errorf("a bot at %s: %+v", base, r)
		}
	}
}

// Only hosts of the platform stand for each other: one that somebody else was asked at stands for itself.
func TestRelatedHosts(t *testing.T) {
	for hosts, want := range map[[2]string]bool{
		{publicAPI, publicAPI}:                           true,
		{publicAPI, "https://sh-ilinkai.weixin.qq.com"}:  true,
		{"https://a.example", "https://a.example"}:       true,
		{"https://a.example", publicAPI}:                 false,
		{publicAPI, "https://a.example"}:                 false,
		{"https://a.example", "https://b.example"}:       false,
		{publicAPI, "https://weixin.qq.com"}:             false,
		{publicAPI, "https://a.weixin.qq.com.evil.test"}: false,
	} {
		if got := related(hosts[0], hosts[1]); got != want {
			t.Errorf("from %s to %s: %v", hosts[0], hosts[1], got)
		}
	}
}

func TestSignInWithANumber(t *testing.T) {
	p := wechattest.New(t, wechattest.Options{})
	p.PlanSignIn(wechattest.SignIn{Statuses: []wechattest.Status{{Name: "scaned"}}, Verify: "42"})
	if r := signIn(t, p, SignIn{}, "1", "42"); r.err != nil || r.c.Token == "" || !slices.Equal(r.wrong, []bool{false, true}) {
		t.Errorf("got %+v", r)
	}
	// After three wrong ones there is a new code, for which nothing was typed yet.
	p.PlanSignIn(wechattest.SignIn{Verify: "42"})
	if r := signIn(t, p, SignIn{}, "1", "2", "3", "42"); r.err != nil || len(r.links) != 2 || !slices.Equal(r.wrong, []bool{false, true, true, false}) {
		t.Errorf("got %+v", r)
	}
	p.PlanSignIn(wechattest.SignIn{Verify: "42"})
	if r := signIn(t, p, SignIn{}); r.err == nil || !strings.Contains(r.err.Error(), "nobody types") || r.c != (Credentials{}) {
		t.Errorf("nobody types: %+v", r)
	}
}

func TestSignInThatEndsOtherwise(t *testing.T) {
	wait := &wechattest.Status{Name: "wait"}
	for name, c := range map[string]struct {
		plan  wechattest.SignIn
		fault wechattest.Fault
		is    error
		says  string
		links int
		life  time.Duration // long enough for a code on a busy machine
	}{
		"codes expire":        {plan: wechattest.SignIn{Last: &wechattest.Status{Name: "expired"}}, is: ErrCodes, links: 4},
		"bound already":       {plan: wechattest.SignIn{Last: &wechattest.Status{Name: "binded_redirect"}}, is: ErrBound, links: 1},
		"no token":            {plan: wechattest.SignIn{Set: map[string]any{"bot_token": nil}}, says: "as whom", links: 1},
		"no bot":              {plan: wechattest.SignIn{Set: map[string]any{"ilink_bot_id": ""}}, says: "as whom", links: 1},
		"no owner":            {plan: wechattest.SignIn{Set: map[string]any{"ilink_user_id": nil}}, says: "as whom", links: 1},
		"a token of lines":    {plan: wechattest.SignIn{Set: map[string]any{"bot_token": "a\r\nb"}}, says: "token is not one", links: 1},
		"a refused code":      {fault: wechattest.Fault{Route: wechattest.QRCode, Ret: -1, Msg: "s3cret"}, says: "cannot get a code: code -1"},
		"no code":             {fault: wechattest.Fault{Route: wechattest.QRCode, Body: `{"ret":0}`}, says: "no code"},
		"a gateway, no code":  {fault: wechattest.Fault{Route: wechattest.QRCode, Status: 502}, says: "HTTP 502"},
		"a redirect":          {fault: wechattest.Fault{Route: wechattest.QRCode, Status: 302, Header: map[string][]string{"Location": {"https://evil.example/"}}}, says: "HTTP 302"},
		"too much":            {fault: wechattest.Fault{Route: wechattest.QRStatus, Body: `{"status":"wait","x":"` + strings.Repeat("x", maxAnswer) + `"}`}, says: "cannot be read", links: 1},
		"a refused status":    {fault: wechattest.Fault{Route: wechattest.QRStatus, Code: -5}, says: "code -5", links: 1},
		"a status of no JSON": {fault: wechattest.Fault{Route: wechattest.QRStatus, Body: "no"}, says: "cannot be read", links: 1},
		"an unknown code":     {fault: wechattest.Fault{Route: wechattest.QRStatus, Status: 404}, says: "HTTP 404", links: 1},
		"never scanned":       {plan: wechattest.SignIn{Last: wait}, is: ErrNotScanned, links: 1, life: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := wechattest.New(t, wechattest.Options{})
			p.PlanSignIn(c.plan)
			if c.fault.Route != "" {
				p.Inject(c.fault)
			}
			r := signIn(t, p, SignIn{life: c.life})
			if r.err == nil || r.c != (Credentials{}) || c.is != nil && !errors.Is(r.err, c.is) || !strings.Contains(r.err.Error(), c.says) {
				t.Errorf("got %+v", r)
			}
			if len(r.links) != c.links || strings.Contains(r.err.Error(), "s3cret") || strings.Contains(r.err.Error(), "qrcode=") {
				t.Errorf("%d codes, and it says %v", len(r.links), r.err)
			}
			if slices.Contains(p.Dialed(), "evil.example") {
				t.Error("it followed a redirect")
			}
		})
	}
}

// Without ret, without an image, at another place that is asked for.
func TestSignInElsewhere(t *testing.T) {
	p := wechattest.New(t, wechattest.Options{})
	p.Inject(wechattest.Fault{Route: wechattest.QRCode, Set: map[string]any{"qrcode_img_content": nil}})
	p.PlanSignIn(wechattest.SignIn{NoRet: true, Set: map[string]any{"baseurl": nil}})
	r := signIn(t, p, SignIn{Origin: "https://sz-ilinkai.weixin.qq.com"})
	if r.err != nil || r.c.BaseURL != "https://sz-ilinkai.weixin.qq.com" || !strings.HasPrefix(r.links[0], "code") {
		t.Errorf("got %+v", r)
	}
	standIn, err := StandIn(p.PlainURL())
	if err != nil {
		t.Fatal(err)
	}
	p.PlanSignIn(wechattest.SignIn{})
	if r := signIn(t, p, SignIn{Platform: standIn}); r.err != nil || r.c.BaseURL != publicAPI {
		t.Errorf("at a stand-in: %+v", r)
	}
}
