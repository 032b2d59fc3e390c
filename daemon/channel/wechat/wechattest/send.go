package wechattest

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Sent is a message that a bot sent and the platform answered with a success.
type Sent struct {
	Bot       string
	MessageID string
	To        string // to_user_id
	Group     string // that it is shown in, "" for a direct chat
	Kind      string // text, image, video or file
	Text      string
	File      *SentFile
	ClientID  string
	Token     string // context_token
	ReplyTo   string // id of the message that the token came with
	At        time.Time
	Repeats   int  // how often it came again and was dropped
	Dropped   bool // nobody sees it: its token was used up
}

// SentFile is a file of a bot, decrypted.
type SentFile struct {
	Name string // "" for an image or a video
	Data []byte
}

// handle is what stands behind a context_token.
type handle struct {
	bot, message, from, group string
	used, refused             bool
}

// accepted is what a client_id was used for.
type accepted struct{ sent int }

// maxText is the longest text taken, in bytes of UTF-8.
const maxText = 16 << 10

type outgoing struct {
	Msg struct {
		From     *string          `json:"from_user_id"`
		To       string           `json:"to_user_id"`
		ClientID string           `json:"client_id"`
		Type     int              `json:"message_type"`
		State    int              `json:"message_state"`
		Token    *string          `json:"context_token"`
		Items    []jsontext.Value `json:"item_list"`
	} `json:"msg"`
}

func (p *Platform) send(c *call) answer {
	var asked outgoing
	if err := json.Unmarshal(c.text, &asked); err != nil {
		p.Complain("a message cannot be read: %v", err)
		return refuse(invalid, "invalid request")
	}
	m := asked.Msg
	switch {
	case m.From == nil || *m.From != "", m.To == "", m.ClientID == "", m.Type != 2, m.State != 2, len(m.Items) != 1,
		m.Token != nil && *m.Token == "":
		p.Complain("a message that no client sends: %.300s", c.text)
		return refuse(invalid, "invalid request")
	}
	key := c.bot.ID + " " + m.ClientID
	if before := p.clients[key]; before != nil && !p.opts.Forgets {
		p.sent[before.sent].Repeats++
		return p.acceptance(p.sent[before.sent].MessageID)
	}
	s := Sent{Bot: c.bot.ID, To: m.To, ClientID: m.ClientID, At: p.Now()}
	if bad := p.address(c, &s, m.Token); bad != nil {
		return *bad
	}
	if bad := p.readItem(&s, m.Items[0]); bad != nil {
		return *bad
	}
	p.last++
	s.MessageID = strconv.FormatUint(p.last, 10)
	p.clients[key] = &accepted{len(p.sent)}
	p.sent = append(p.sent, s)
	return p.acceptance(s.MessageID)
}

func (p *Platform) acceptance(id string) answer {
	if p.opts.Silent {
		return ok(object{})
	}
	return ok(object{"message_id": jsontext.Value(id)})
}

// address finds where a message goes. A token is for whoever wrote the message that it came with, once.
func (p *Platform) address(c *call, s *Sent, token *string) *answer {
	refused := refuse(invalid, "prepare failed")
	if token == nil {
		if s.Group = p.groupOf(c.bot, s.To); s.Group == "" && !p.knows(c.bot, s.To) {
			return &refused
		}
		return nil
	}
	h := p.handles[*token]
	switch {
	case h == nil || h.bot != c.bot.ID || s.To != h.from && s.To != h.group:
		p.Complain("%s sends to %s with a context_token that is not from there", c.bot.ID, s.To)
		return &refused
	case h.refused:
		return &refused
	}
	s.Token, s.ReplyTo, s.Group, s.Dropped = *token, h.message, h.group, h.used
	h.used = true
	return nil
}

// burn makes a refusal one for good: the platform never takes another message on that token.
func (p *Platform) burn(route Route, c *call) {
	var asked outgoing
	if route != Send || !c.fault.refuses() || json.Unmarshal(c.text, &asked) != nil || asked.Msg.Token == nil {
		return
	}
	if h := p.handles[*asked.Msg.Token]; h != nil {
		h.refused = true
	}
}

// knows reports whether a bot can write to somebody: its owner, and whoever wrote to it.
func (p *Platform) knows(b *Bot, user string) bool {
	return user == b.Owner || slices.ContainsFunc(p.messages, func(m *message) bool {
		return m.bot == b.ID && m.from == user && m.group == ""
	})
}

// groupOf is the group that somebody's id is, "" for a person's.
func (p *Platform) groupOf(b *Bot, id string) string {
	for _, m := range p.messages {
		if m.bot == b.ID && m.group == id {
			return id
		}
	}
	return ""
}

// readItem reads what is sent.
func (p *Platform) readItem(s *Sent, raw jsontext.Value) *answer {
	var it struct {
		Type int `json:"type"`
		Text struct {
			Text string `json:"text"`
		} `json:"text_item"`
		Image sentMedia `json:"image_item"`
		File  sentMedia `json:"file_item"`
		Video sentMedia `json:"video_item"`
	}
	bad := refuse(invalid, "invalid item")
	if err := json.Unmarshal(raw, &it); err != nil {
		p.Complain("an item cannot be read: %v", err)
		return &bad
	}
	switch it.Type {
	case 1:
		if s.Kind, s.Text = "text", it.Text.Text; s.Text == "" || len(s.Text) > maxText {
			p.Complain("a text has %d bytes", len(s.Text))
			return &bad
		}
		return nil
	case 2:
		s.Kind, s.File = "image", p.sentFile(it.Image, 1)
	case 4:
		s.Kind, s.File = "file", p.sentFile(it.File, 3)
	case 5:
		s.Kind, s.File = "video", p.sentFile(it.Video, 2)
	default:
		p.Complain("an item is of the type %d", it.Type)
	}
	if s.File == nil {
		return &bad
	}
	return nil
}

// Sent is what bots sent, in order, and with what was dropped.
func (p *Platform) Sent() []Sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

// AwaitSent waits until what bots sent is as cond wants it.
func (p *Platform) AwaitSent(ctx context.Context, cond func([]Sent) bool) ([]Sent, error) {
	var sent []Sent
	err := p.Await(ctx, func() bool {
		sent = p.Sent()
		return cond(sent)
	})
	return sent, err
}

// Shown are the texts that a person sees in their direct chat with a bot, or that stand in a group; a file
// is its name in brackets.
func (p *Platform) Shown(botID, chat string) (texts []string) {
	for _, s := range p.Sent() {
		if s.Bot != botID || s.Dropped || s.Group != chat && (s.Group != "" || s.To != chat) {
			continue
		}
		if s.File != nil {
			s.Text = "[" + s.File.Name + "]"
		}
		texts = append(texts, s.Text)
	}
	return texts
}
