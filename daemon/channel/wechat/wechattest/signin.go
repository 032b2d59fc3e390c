package wechattest

import (
	"net"
	"net/http"
	"net/url"
)

// SignIn plans a sign-in: what the person does between the code and the token.
type SignIn struct {
	Statuses []Status // answers before the token, in order
	Last     *Status  // what every question after those is answered instead of the token
	Verify   string   // the number that the phone shows; it is asked for once the Statuses are through
	Bot      Bot      // that the scan makes, or gives a new token
	BaseURL  string   // that comes with the token; "" is the usual one
	Set      object   // fields of the answer with the token are set; nil takes one away
	NoRet    bool     // answers have no ret
}

// Status is the answer to one question for a code's status.
type Status struct {
	Name   string // such as wait, scaned, expired, scaned_but_redirect, binded_redirect
	Host   string // redirect_host: from here on only that host answers
	Status int    // of HTTP
	Cut    bool   // the connection is closed instead
	Body   string // instead of all that
}

// signIn is a plan on its way.
type signIn struct {
	SignIn
	code    string // the latest; older ones are expired
	dead    bool   // so is the latest
	codes   int
	next    int
	host    string // that answers, "" for any
	wrong   int    // numbers that were not the phone's
	asked   bool   // for the number
	done    bool
	granted Bot
}

// PlanSignIn sets what the next sign-in meets. Without a plan somebody scans after the first question.
func (p *Platform) PlanSignIn(plan SignIn) { p.change(func() { p.sign = &signIn{SignIn: plan} }) }

// Codes is how many codes the present plan has given.
func (p *Platform) Codes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sign == nil {
		return 0
	}
	return p.sign.codes
}

// Scan lets the person scan and agree: the next question brings the token, whatever the plan still holds.
func (p *Platform) Scan() {
	p.change(func() {
		if p.sign != nil {
			p.sign.Statuses, p.sign.Last, p.sign.Verify = nil, nil, ""
		}
	})
}

func (p *Platform) giveCode(c *call) answer {
	if got := c.URL.Query().Get("bot_type"); got != "3" {
		p.Complain("a code is asked for with bot_type %q", got)
		return refuse(invalid, "invalid bot_type")
	}
	if p.sign == nil || p.sign.done {
		p.sign = &signIn{SignIn: SignIn{Statuses: []Status{{Name: "wait"}, {Name: "scaned"}}}}
	}
	s := p.sign
	s.code, s.dead, s.host, s.wrong, s.asked = p.newID("code"), false, "", 0, false
	s.codes++
	return s.say(object{"qrcode": s.code, "qrcode_img_content": "https://liteapp.weixin.qq.com/q/" + s.code + "?bot_type=3"})
}

// say is an answer of a sign-in.
func (s *signIn) say(fields object) answer {
	if !s.NoRet {
		fields["ret"] = 0
	}
	return ok(fields)
}

func (s *signIn) status(name string) answer { return s.say(object{"status": name}) }

func (p *Platform) codeStatus(c *call) answer {
	s, query := p.sign, c.URL.Query()
	switch {
	case s == nil || s.codes == 0:
		p.Complain("the status of a code is asked for, and there is none")
		return refuse(invalid, "no such code")
	case query.Get("qrcode") != s.code || s.dead || s.done:
		return s.status("expired")
	case s.host != "" && p.Has(hostOf(c.Request)) && hostOf(c.Request) != s.host:
		return s.say(object{"status": "scaned_but_redirect", "redirect_host": s.host})
	}
	if s.next < len(s.Statuses) {
		s.next++
		return s.answer(s.Statuses[s.next-1])
	}
	if s.Last != nil {
		return s.answer(*s.Last)
	}
	if s.Verify != "" && query.Get("verify_code") != s.Verify {
		return s.verify(query)
	}
	return p.grant()
}

func hostOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return r.Host
}

func (s *signIn) answer(st Status) answer {
	switch {
	case st.Cut:
		return answer{cut: true}
	case st.Body != "":
		return answer{status: st.Status, bytes: []byte(st.Body)}
	case st.Name == "":
		return answer{status: st.Status, bytes: []byte(http.StatusText(st.Status))}
	}
	fields := object{"status": st.Name}
	if st.Name == "expired" || st.Name == "verify_code_blocked" {
		s.dead = true
	}
	if st.Host != "" {
		s.host, fields["redirect_host"] = st.Host, st.Host
	}
	return s.say(fields)
}

// verify asks for the number that the phone shows; three wrong ones are one too many.
func (s *signIn) verify(query url.Values) answer {
	if query.Has("verify_code") {
		s.wrong++
	}
	if s.wrong == 3 {
		s.dead = true
		return s.status("verify_code_blocked")
	}
	return s.status("need_verifycode")
}

// grant gives the token, once.
func (p *Platform) grant() answer {
	s := p.sign
	s.done, s.granted = true, s.Bot
	s.granted.Token = "" // a new one each time
	p.addBot(&s.granted)
	fields := object{
		"status": "confirmed", "bot_token": s.granted.Token, "ilink_bot_id": s.granted.ID, "ilink_user_id": s.granted.Owner,
		"baseurl": "https://ilinkai.weixin.qq.com",
	}
	if s.BaseURL != "" {
		fields["baseurl"] = s.BaseURL
	}
	for key, value := range s.Set {
		if fields[key] = value; value == nil {
			delete(fields, key)
		}
	}
	return s.say(fields)
}
