package feishutest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Sent is a message that a bot sent.
type Sent struct {
	App       string
	MessageID string
	Chat      string
	To        string // receive_id, "" for a reply
	ToType    string // receive_id_type
	ReplyTo   string // message_id it replies to
	InThread  bool   // reply_in_thread was asked for
	Thread    string // thread_id it is in
	Kind      string // msg_type
	Content   string // JSON
	Text      string // of a text
	Mentions  []string
	UUID      string
	At        time.Time
	Repeats   int // how often it was sent again with the same uuid and dropped
	Updates   int // how often its content was replaced (cards)
}

// accepted is what a uuid was used for.
type accepted struct {
	messageID string
	at        time.Time
}

const uuidLife = time.Hour

// Limits of a message.
const (
	maxUUID = 50
	maxText = 150 << 10
	maxRich = 30 << 10
)

// Codes of refused messages.
const (
	codeInvalid   = 230001
	codeNotInChat = 230002
	codeRecalled  = 230011
	codeNobody    = 230013
	codeTooLong   = 230025
	codeNoMessage = 230099
)

// outgoing is the body of a send, a reply or an update.
type outgoing struct {
	ReceiveID     string `json:"receive_id"`
	MsgType       string `json:"msg_type"`
	Content       string `json:"content"`
	UUID          string `json:"uuid"`
	ReplyInThread bool   `json:"reply_in_thread"`
}

func invalid(why string) *answer {
	a := refuse(http.StatusBadRequest, codeInvalid, "Your request contains an invalid request parameter: "+why)
	return &a
}

func (p *Platform) send(c *call) answer {
	var asked outgoing
	if err := c.json(&asked); err != nil {
		return *invalid(err.Error())
	}
	kind := c.URL.Query().Get("receive_id_type")
	var to *chat
	switch kind {
	case "open_id":
		if !strings.HasPrefix(asked.ReceiveID, "ou_") {
			return *invalid("receive_id")
		}
		if !p.knows(c.app, asked.ReceiveID) {
			return refuse(http.StatusBadRequest, codeNobody, "Bot has NO availability to this user.")
		}
		to = p.direct(c.app.ID, asked.ReceiveID)
	case "chat_id":
		to = p.chat(asked.ReceiveID)
	default:
		return *invalid("receive_id_type")
	}
	s := Sent{To: asked.ReceiveID, ToType: kind}
	return p.accept(c, to, &asked, s, &message{})
}

// knows reports whether an app can write to somebody: its owner, and whoever is in a chat with it.
func (p *Platform) knows(app *App, openID string) bool {
	return openID == app.Owner || slices.ContainsFunc(p.chats, func(c *chat) bool {
		return c.direct && c.user == openID && c.has(app.ID)
	})
}

func (p *Platform) reply(c *call) answer {
	var asked outgoing
	if err := c.json(&asked); err != nil {
		return *invalid(err.Error())
	}
	to := p.message(c.PathValue("id"))
	switch {
	case to == nil:
		return *invalid("message_id")
	case to.deleted:
		return refuse(http.StatusBadRequest, codeRecalled, "The message was withdrawn.")
	}
	m := &message{}
	m.related(to)
	root := to
	if to.root != "" {
		root = p.message(to.root)
	}
	if asked.ReplyInThread && root != nil {
		m.thread, m.parent, m.root = p.thread(root), root.id, root.id
	} else if to.thread != "" {
		m.thread = to.thread
	}
	return p.accept(c, p.chat(to.chat), &asked, Sent{ReplyTo: to.id, InThread: asked.ReplyInThread}, m)
}

// accept checks a message, keeps it and answers with it; one that was accepted before, with that.
func (p *Platform) accept(c *call, to *chat, asked *outgoing, s Sent, m *message) answer {
	if !to.has(c.app.ID) {
		return refuse(http.StatusBadRequest, codeNotInChat, "The bot can not be outside the group.")
	}
	if bad := p.check(asked); bad != nil {
		return *bad
	}
	key := c.app.ID + " " + asked.UUID
	if before, found := p.uuids[key]; found && asked.UUID != "" && p.Now().Sub(before.at) < uuidLife {
		p.sentAs(before.messageID, func(s *Sent) { s.Repeats++ })
		return ok(p.item(p.message(before.messageID)))
	}
	m.id, m.chat, m.kind, m.content = p.newID("om_"), to.id, asked.MsgType, asked.Content
	m.sender, m.senderType, m.at = c.app.ID, "app", p.Now()
	p.keep(m)
	p.uuids[key] = accepted{m.id, m.at}
	s.App, s.MessageID, s.Chat, s.Thread, s.Kind = c.app.ID, m.id, to.id, m.thread, m.kind
	s.Content, s.UUID, s.At = m.content, asked.UUID, m.at
	if m.kind == "text" {
		s.Text = textOf(m.content)
		s.Mentions = mentionsIn(s.Text)
	}
	p.sent = append(p.sent, s)
	return ok(p.item(m))
}

func (p *Platform) sentAs(messageID string, do func(*Sent)) {
	for i := range p.sent {
		if p.sent[i].MessageID == messageID {
			do(&p.sent[i])
		}
	}
}

// check refuses what the platform does not take, nil for nothing.
func (p *Platform) check(asked *outgoing) *answer {
	var content map[string]any
	if json.Unmarshal([]byte(asked.Content), &content) != nil {
		return invalid("content is no JSON object")
	}
	key := func(name string) bool {
		text, _ := content[name].(string)
		return p.stored[text] != nil
	}
	limit := maxRich
	switch asked.MsgType {
	case "text":
		limit = maxText
		if text, _ := content["text"].(string); text == "" {
			return invalid("text is empty")
		}
	case "image":
		if !key("image_key") {
			return invalid("image_key")
		}
	case "file", "audio", "media":
		if !key("file_key") {
			return invalid("file_key")
		}
	case "post", "interactive", "sticker", "share_chat", "share_user":
	default:
		return invalid("msg_type")
	}
	switch {
	case len(asked.UUID) > maxUUID:
		return invalid("uuid")
	case len(asked.Content) > limit:
		a := refuse(http.StatusBadRequest, codeTooLong, "The length of the message content reaches its limit.")
		return &a
	}
	return nil
}

func textOf(content string) string {
	var text struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal([]byte(content), &text) // check has read it before
	return text.Text
}

// mentionsIn are the ids that a text mentions: every <at user_id="…"> does, whoever wrote it.
func mentionsIn(text string) (ids []string) {
	for rest := text; ; {
		i := strings.Index(strings.ToLower(rest), "<at ")
		if i < 0 {
			return ids
		}
		rest = rest[i+len("<at "):]
		tag, _, _ := strings.Cut(rest, ">")
		_, id, found := strings.Cut(tag, "user_id=")
		if found {
			ids = append(ids, strings.Trim(strings.TrimSpace(id), `"'`))
		}
	}
}

// update replaces a card.
func (p *Platform) update(c *call) answer {
	var asked outgoing
	if err := c.json(&asked); err != nil {
		return *invalid(err.Error())
	}
	m := p.message(c.PathValue("id"))
	if m == nil || m.sender != c.app.ID || m.kind != "interactive" {
		return *invalid("message_id")
	}
	asked.MsgType = m.kind
	if bad := p.check(&asked); bad != nil {
		return *bad
	}
	m.content = asked.Content
	p.sentAs(m.id, func(s *Sent) { s.Content, s.Updates = m.content, s.Updates+1 })
	return ok(object{})
}

// Sent is what bots sent, in order. What was dropped as a repeat is not in it.
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
