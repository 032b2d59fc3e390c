package feishutest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestHosts(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.App()).signIn()
	for _, url := range []string{p.URL(), p.PlainURL(), p.URL() + "/feishu"} {
		if res := c.get(url + "/open-apis/bot/v3/info"); res.Bot["open_id"] != c.app.BotID {
			t.Errorf("%s: %+v", url, res)
		}
	}
	for _, url := range []string{p.URL() + "/lark", "https://open.larksuite.com"} {
		if res := c.get(url + "/open-apis/bot/v3/info"); res.Code != codeBadToken {
			t.Errorf("%s: %+v", url, res)
		}
	}
	for _, url := range []string{"https://evil.example/", "https://feishu.cn.evil.example/", "http://open.feishu.cn/"} {
		if res, err := c.try("GET", url, "", ""); err == nil {
			t.Errorf("%s: %+v", url, res)
		}
	}
	if !slices.Contains(p.Dialed(), "feishu.cn.evil.example") {
		t.Errorf("dialed %q", p.Dialed())
	}
}

func TestTokens(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.App())
	info := func() int { return c.get("/open-apis/bot/v3/info").Code }
	if code := info(); code != codeNoToken {
		t.Errorf("without a token: %d", code)
	}
	first := c.signIn().token
	if again := c.signIn().token; again != first {
		t.Errorf("a fresh token is not given again: %s, %s", first, again)
	}
	p.Skew(100 * time.Minute)
	if code := info(); code != 0 {
		t.Errorf("in its last half an hour: %d", code)
	}
	if later := c.signIn().token; later == first {
		t.Error("an old token is given again")
	}
	p.ExpireTokens()
	if code := info(); code != codeBadToken {
		t.Errorf("expired: %d", code)
	}
	c.signIn()
	p.Skew(4 * time.Hour)
	if code := info(); code != codeBadToken {
		t.Errorf("outlived: %d", code)
	}
	p.SetSecret(c.app.ID, "another")
	res := c.post("/open-apis/auth/v3/tenant_access_token/internal", object{"app_id": c.app.ID, "app_secret": c.app.Secret})
	if res.Code != codeBadSecret || res.Token != "" {
		t.Errorf("a bad secret: %+v", res)
	}
}

func TestFaultsOfARequest(t *testing.T) {
	for _, test := range []struct {
		name   string
		fault  Fault
		status int // 0 is no answer
		code   int
		sent   int
	}{
		{"none", Fault{Route: Reply, Status: 500}, 200, 0, 1},
		{"code", Fault{Status: 400, Code: 99991400}, 400, 99991400, 0},
		{"code with 200", Fault{Code: 230002}, 200, 230002, 0},
		{"a gateway's page", Fault{Status: 503}, 503, 0, 0},
		{"cut", Fault{Cut: true}, 0, 0, 0},
		{"accepted and cut", Fault{Cut: true, Late: true}, 0, 0, 1},
		{"accepted and lost", Fault{Status: 502, Late: true}, 502, 0, 1},
		{"of another app", Fault{App: "cli_other", Status: 503}, 200, 0, 1},
		{"slow", Fault{Delay: 20 * time.Millisecond}, 200, 0, 1},
		{"later", Fault{Skip: 1, Status: 503}, 200, 0, 1},
		{"limited", Fault{Status: 429, Code: 99991400, Header: http.Header{"X-Ogw-Ratelimit-Reset": {"1"}}}, 429, 99991400, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := New(t, Options{})
			c := newClient(t, p, p.App()).signIn()
			if test.fault.Route == "" {
				test.fault.Route = Send
			}
			p.Inject(test.fault)
			began := time.Now()
			res, err := c.try("POST", "/open-apis/im/v1/messages?receive_id_type=open_id", "application/json", encode(object{
				"receive_id": c.app.Owner, "msg_type": "text", "content": `{"text":"hello"}`,
			}))
			if test.status == 0 {
				if err == nil {
					t.Errorf("answered %+v", res)
				}
			} else if err != nil || res.status != test.status || res.Code != test.code {
				t.Errorf("answered %+v, %v", res, err)
			}
			if took := time.Since(began); took < test.fault.Delay {
				t.Errorf("it took %v", took)
			}
			if n := len(p.Sent()); n != test.sent {
				t.Errorf("%d messages are sent", n)
			}
		})
	}
}

func TestFaultsEndAndHeal(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.App()).signIn()
	p.Inject(Fault{Route: Send, Times: 2, Code: 230020}, Fault{Route: Send, Times: -1, Code: 11232})
	var codes []int
	for range 4 {
		codes = append(codes, c.send("", "hello").Code)
	}
	if !slices.Equal(codes, []int{230020, 230020, 11232, 11232}) {
		t.Errorf("codes %v", codes)
	}
	p.Heal()
	if res := c.send("", "hello"); res.Code != 0 {
		t.Errorf("healed: %+v", res)
	}
	if n := len(p.Requests(Send)); n != 5 || p.Requests(Send)[0].App != c.app.ID {
		t.Errorf("%d requests", n)
	}
}

func TestSignIn(t *testing.T) {
	pending, denied := Poll{Error: "authorization_pending"}, Poll{Error: "access_denied"}
	for _, test := range []struct {
		name string
		plan SignIn
		want string // of the polls: status and what is said
	}{
		{"at once", SignIn{}, "200 secret"},
		{"pending, slow", SignIn{Polls: []Poll{pending, {Error: "slow_down"}, {}}}, "400 authorization_pending, 400 slow_down, 200 -, 200 secret"},
		{"denied", SignIn{Polls: []Poll{pending}, Last: &denied}, "400 authorization_pending, 400 access_denied, 400 access_denied"},
		{"in a good answer", SignIn{Polls: []Poll{{Error: "expired_token", Status: 200}}, Last: &denied}, "200 expired_token, 400 access_denied"},
		{"of Lark", SignIn{Polls: []Poll{pending}, App: App{Brand: Lark}}, "400 authorization_pending, 400 authorization_pending lark"},
		{"of a third brand", SignIn{Polls: []Poll{{Brand: "third"}}, Last: &denied}, "200 - third, 400 access_denied"},
		{"broken", SignIn{Polls: []Poll{{Cut: true}, {Error: "x", Status: 503}}}, "cut, 503 x, 200 secret"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := New(t, Options{})
			p.PlanSignIn(test.plan)
			c := newClient(t, p, p.App())
			s := c.startDevice("https://accounts.feishu.cn")
			var got []string
			for range strings.Split(test.want, ", ") {
				got = append(got, s.poll("https://accounts.feishu.cn"))
			}
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("polls say %q, want %q", got, test.want)
			}
		})
	}
}

func TestSignInMakesAnApp(t *testing.T) {
	p := New(t, Options{})
	p.PlanSignIn(SignIn{App: App{Brand: Lark, Owner: "ou_me"}, Interval: 3, Expires: 60, OldName: true})
	c := newClient(t, p, p.App())
	s := c.startDevice("https://accounts.feishu.cn")
	if s.text != `{"device_code":"`+s.device+`","expire_in":60,"interval":3,"user_code":"ABCD-1234",`+
		`"verification_uri":"https://open.feishu.cn/page/cli","verification_uri_complete":"https://open.feishu.cn/page/cli?user_code=ABCD-1234"}` {
		t.Errorf("begin: %s", s.text)
	}
	if got := s.poll("https://accounts.larksuite.com"); got != "200 secret" {
		t.Errorf("poll: %s", got)
	}
	if got := s.poll("https://accounts.larksuite.com"); got != "400 invalid_grant" {
		t.Errorf("a second time: %s", got)
	}
	made := p.Apps()[1]
	if made.Brand != Lark || made.Owner != "ou_me" || newClient(t, p, made).signIn().token == "" {
		t.Errorf("app %+v", made)
	}
}

type device struct {
	*client
	device, text string
}

func (c *client) startDevice(host string) *device {
	c.t.Helper()
	const path = "/oauth/v1/app/registration"
	if res := c.form(host+path, url.Values{"action": {"init"}}); !strings.Contains(res.text, `["client_secret"]`) {
		c.t.Errorf("init: %s", res.text)
	}
	res := c.form(host+path, url.Values{
		"action": {"begin"}, "archetype": {"PersonalAgent"}, "auth_method": {"client_secret"}, "request_user_info": {"open_id tenant_brand"},
	})
	return &device{c, field(res.text, "device_code"), res.text}
}

// poll is what a poll says, in short.
func (d *device) poll(host string) string {
	d.t.Helper()
	fields := url.Values{"action": {"poll"}, "device_code": {d.device}}
	res, err := d.try("POST", host+"/oauth/v1/app/registration", "application/x-www-form-urlencoded", fields.Encode())
	if err != nil {
		return "cut"
	}
	said := field(res.text, "error")
	switch {
	case field(res.text, "client_secret") != "":
		return fmt.Sprint(res.status, " secret")
	case said == "":
		said = "-"
	}
	if brand := field(res.text, "tenant_brand"); brand != "" {
		said += " " + brand
	}
	return fmt.Sprint(res.status, " ", said)
}

// field finds a text in JSON.
func field(text, name string) string {
	_, rest, _ := strings.Cut(text, `"`+name+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
