package feishutest

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// AddApp makes one more app and returns it with all its fields.
func (p *Platform) AddApp(app App) App {
	p.change(func() { p.addApp(&app) })
	return app
}

func (p *Platform) addApp(app *App) {
	p.last++
	fill(&app.ID, "cli_", p.last)
	fill(&app.Secret, "secret", p.last)
	fill(&app.BotID, "ou_bot", p.last)
	fill(&app.Owner, "ou_owner", p.last)
	app.Brand = brandOr(app.Brand)
	if app.Name == "" {
		app.Name = "Bot"
	}
	p.names[app.BotID] = app.Name
	p.apps = append(p.apps, app)
}

// App is the first app.
func (p *Platform) App() App { return p.Apps()[0] }

// Apps are all of them, in the order they were made.
func (p *Platform) Apps() (all []App) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, app := range p.apps {
		all = append(all, *app)
	}
	return all
}

// SetSecret gives an app another secret: the old one is wrong from now on.
func (p *Platform) SetSecret(appID, secret string) {
	p.change(func() {
		if app := p.app(appID); app != nil {
			app.Secret = secret
		}
	})
}

func (p *Platform) app(id string) *App {
	i := slices.IndexFunc(p.apps, func(app *App) bool { return app.ID == id })
	if i < 0 {
		return nil
	}
	return p.apps[i]
}

// token is a tenant token.
type token struct {
	app  string
	ends time.Time
}

// ExpireTokens makes every token given so far invalid.
func (p *Platform) ExpireTokens() { p.change(func() { clear(p.tokens) }) }

// Codes of refused credentials.
const (
	codeNoToken   = 99991661
	codeBadToken  = 99991663
	codeBadParam  = 10003
	codeBadSecret = 10014
)

func (p *Platform) giveToken(c *call) answer {
	var asked struct {
		AppID     string `json:"app_id"`
		AppSecret string `json:"app_secret"`
	}
	if err := c.json(&asked); err != nil {
		return refuse(http.StatusBadRequest, codeBadParam, "invalid param")
	}
	app := p.app(asked.AppID)
	switch {
	case app == nil || c.brand != "" && c.brand != app.Brand:
		return refuse(http.StatusOK, codeBadParam, "invalid param")
	case app.Secret != asked.AppSecret:
		return refuse(http.StatusOK, codeBadSecret, "app secret invalid")
	}
	// As on the live platform, a token is given again until its last half an hour.
	now := p.Now()
	for text, t := range p.tokens {
		if t.app == app.ID && t.ends.Sub(now) > 30*time.Minute {
			return tokenAnswer(text, t.ends.Sub(now))
		}
	}
	text := p.newID("t-")
	p.tokens[text] = token{app: app.ID, ends: now.Add(p.opts.TokenLife)}
	return tokenAnswer(text, p.opts.TokenLife)
}

func tokenAnswer(text string, life time.Duration) answer {
	return answer{body: object{"code": 0, "msg": "ok", "tenant_access_token": text, "expire": int(life.Seconds())}}
}

func (p *Platform) botInfo(c *call) answer {
	return answer{body: object{"code": 0, "msg": "ok", "bot": object{
		"activate_status": 2, "app_name": c.app.Name, "avatar_url": "", "ip_white_list": []string{}, "open_id": c.app.BotID,
	}}}
}

func fill(s *string, prefix string, n int) {
	if *s == "" {
		*s = fmt.Sprintf("%s%016x", prefix, n)
	}
}
