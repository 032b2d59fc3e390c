package wechattest

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"
)

// Typing is one sign that a bot is writing, or has ended.
type Typing struct {
	Bot  string
	User string
	Ends bool
	At   time.Time
}

// ticket is what a sign of typing needs: for one person.
type ticket struct{ bot, user string }

func (p *Platform) giveConfig(c *call) answer {
	var asked struct {
		User string `json:"ilink_user_id"`
	}
	if err := json.Unmarshal(c.text, &asked); err != nil || asked.User == "" {
		p.Complain("getconfig names no ilink_user_id: %v", err)
		return refuse(invalid, "invalid request")
	}
	id := p.newID("ticket")
	p.tickets[id] = ticket{c.bot.ID, asked.User}
	return ok(object{"ret": 0, "typing_ticket": id})
}

func (p *Platform) showTyping(c *call) answer {
	var asked struct {
		User   string `json:"ilink_user_id"`
		Ticket string `json:"typing_ticket"`
		Status int    `json:"status"`
	}
	err := json.Unmarshal(c.text, &asked)
	if err != nil || asked.Status != 1 && asked.Status != 2 || p.tickets[asked.Ticket] != (ticket{c.bot.ID, asked.User}) {
		p.Complain("sendtyping that no client sends: %.300s", c.text)
		return refuse(invalid, "invalid request")
	}
	p.typing = append(p.typing, Typing{Bot: c.bot.ID, User: asked.User, Ends: asked.Status == 2, At: p.Now()})
	return ok(object{"ret": 0})
}

// Typings are the signs of typing so far, in order.
func (p *Platform) Typings() []Typing {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.typing)
}
