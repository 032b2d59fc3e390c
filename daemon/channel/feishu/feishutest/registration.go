package feishutest

import (
	"net/http"
	"net/url"
	"strings"
)

// SignIn plans the device flow: what the person does between the code and the credentials.
type SignIn struct {
	Methods  []string // supported_auth_methods; nil is client_secret alone
	Interval int      // seconds; 0 says none
	Expires  int      // seconds; 0 says none
	OldName  bool     // the life of the code is called expire_in
	UserCode string   // "" is one of the platform's
	App      App      // what the scan makes; its Brand is that of who scans
	Nobody   bool     // the answer names no owner
	Polls    []Poll   // answers before the credentials, in order
	Last     *Poll    // what every poll after those is answered instead of the credentials
}

// Poll is an answer to one poll. A zero one is {}: no error and no credentials.
type Poll struct {
	Error  string // such as authorization_pending, slow_down, access_denied, expired_token
	Brand  string // user_info.tenant_brand
	Status int    // of HTTP; 0 is 400 for an error and 200 for none
	Cut    bool   // the connection is closed instead
}

// signIn is a plan on its way.
type signIn struct {
	SignIn
	device string
	next   int
	done   bool
}

// PlanSignIn sets what the next sign-in meets. Without a plan it waits once and succeeds.
func (p *Platform) PlanSignIn(plan SignIn) { p.change(func() { p.sign = &signIn{SignIn: plan} }) }

// Scan lets the person scan: the next poll brings the credentials, whatever the plan still holds.
func (p *Platform) Scan() {
	p.change(func() {
		if p.sign != nil {
			p.sign.Polls, p.sign.Last = nil, nil
		}
	})
}

func (p *Platform) registration(c *call) answer {
	form, err := url.ParseQuery(string(c.text))
	kind := c.Header.Get("Content-Type")
	if err != nil || !strings.HasPrefix(kind, "application/x-www-form-urlencoded") {
		return oauthError("invalid_request", 0)
	}
	if p.sign == nil {
		p.sign = &signIn{SignIn: SignIn{Interval: 1, Expires: 600, Polls: []Poll{{Error: "authorization_pending"}}}}
	}
	switch form.Get("action") {
	case "init":
		methods := p.sign.Methods
		if methods == nil {
			methods = []string{"client_secret"}
		}
		return answer{body: object{"nonce": p.newID("nonce"), "supported_auth_methods": methods}}
	case "begin":
		return p.begin(c, form)
	case "poll":
		return p.poll(c, form)
	}
	return oauthError("invalid_request", 0)
}

func (p *Platform) begin(c *call, form url.Values) answer {
	asked := form.Get("request_user_info")
	if form.Get("archetype") != "PersonalAgent" || form.Get("auth_method") != "client_secret" || !strings.Contains(asked, "open_id") {
		return oauthError("invalid_request", 0)
	}
	s := p.sign
	s.device, s.next = p.newID("device"), 0
	if s.UserCode == "" {
		s.UserCode = "ABCD-1234"
	}
	page := "https://open." + domains[brandOr(c.brand)] + "/page/cli"
	body := object{
		"device_code": s.device, "user_code": s.UserCode, "verification_uri": page,
		"verification_uri_complete": page + "?user_code=" + s.UserCode,
	}
	if s.Interval > 0 {
		body["interval"] = s.Interval
	}
	if s.Expires > 0 && s.OldName {
		body["expire_in"] = s.Expires
	} else if s.Expires > 0 {
		body["expires_in"] = s.Expires
	}
	return answer{body: body}
}

func (p *Platform) poll(c *call, form url.Values) answer {
	s := p.sign
	if s.device == "" || form.Get("device_code") != s.device || s.done {
		return oauthError("invalid_grant", 0)
	}
	var next *Poll
	if s.next < len(s.Polls) {
		next = &s.Polls[s.next]
		s.next++
	} else if next = s.Last; next == nil {
		return p.credentials(c)
	}
	switch {
	case next.Cut:
		return answer{cut: true}
	case next.Error != "":
		a := oauthError(next.Error, next.Status)
		if next.Brand != "" {
			a.body["user_info"] = object{"tenant_brand": next.Brand}
		}
		return a
	case next.Brand != "":
		return answer{status: next.Status, body: object{"user_info": object{"tenant_brand": next.Brand}}}
	}
	return answer{status: next.Status, body: object{}}
}

// credentials ends the flow, on the host of the brand of who scanned; elsewhere it names that brand. A host
// of no brand is Feishu's, where every flow starts.
func (p *Platform) credentials(c *call) answer {
	s := p.sign
	brand := brandOr(s.App.Brand)
	if brandOr(c.brand) != brand {
		return oauthError("authorization_pending", 0).with("user_info", object{"tenant_brand": brand})
	}
	s.done = true
	app := s.App
	p.addApp(&app)
	who := object{"tenant_brand": brand}
	if !s.Nobody {
		who["open_id"] = app.Owner
	}
	return answer{body: object{"client_id": app.ID, "client_secret": app.Secret, "user_info": who}}
}

func brandOr(brand string) string {
	if brand == "" {
		return Feishu
	}
	return brand
}

func oauthError(name string, status int) answer {
	if status == 0 {
		status = http.StatusBadRequest
	}
	return answer{status: status, body: object{"error": name, "error_description": "The device flow says " + name + "."}}
}

func (a answer) with(key string, value any) answer {
	a.body[key] = value
	return a
}
