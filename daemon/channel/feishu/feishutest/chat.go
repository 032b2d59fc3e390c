package feishutest

import (
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// chat is a chat with one bot, or a group.
type chat struct {
	id     string
	user   string   // of a direct chat: whose
	apps   []string // ids of the apps whose bots are in it
	direct bool
}

// message is one message, whoever wrote it.
type message struct {
	id, chat             string
	root, parent, thread string
	upper                string // the bundle of forwarded messages that it is part of
	kind, content        string
	sender               string // open_id of a person, or app id
	senderType           string // "user" or "app"
	mentions             []mention
	at                   time.Time
	deleted              bool
}

type mention struct{ key, openID, name string }

// Direct is the chat of a person with an app's bot, which is made when it is first asked for.
func (p *Platform) Direct(appID, openID string) (id string) {
	p.change(func() { id = p.direct(appID, openID).id })
	return id
}

func (p *Platform) direct(appID, openID string) *chat {
	for _, c := range p.chats {
		if c.direct && c.user == openID && c.apps[0] == appID {
			return c
		}
	}
	c := &chat{id: p.newID("oc_"), user: openID, apps: []string{appID}, direct: true}
	p.chats = append(p.chats, c)
	return c
}

// Group makes a group with the bots of some apps.
func (p *Platform) Group(appIDs ...string) (id string) {
	p.change(func() {
		c := &chat{id: p.newID("oc_"), apps: slices.Clone(appIDs)}
		p.chats = append(p.chats, c)
		id = c.id
	})
	return id
}

// Leave takes an app's bot out of a chat.
func (p *Platform) Leave(chatID, appID string) {
	p.change(func() {
		if c := p.chat(chatID); c != nil {
			c.apps = slices.DeleteFunc(c.apps, func(id string) bool { return id == appID })
		}
	})
}

// Name gives a person a name; without one it is the open_id.
func (p *Platform) Name(openID, name string) { p.change(func() { p.names[openID] = name }) }

// Recall takes a message back.
func (p *Platform) Recall(messageID string) {
	p.change(func() {
		if m := p.message(messageID); m != nil {
			m.deleted = true
		}
	})
}

func (p *Platform) name(openID string) string {
	if name := p.names[openID]; name != "" {
		return name
	}
	return openID
}

func (p *Platform) chat(id string) *chat {
	i := slices.IndexFunc(p.chats, func(c *chat) bool { return c.id == id })
	if i < 0 {
		return nil
	}
	return p.chats[i]
}

func (p *Platform) message(id string) *message { return p.byID[id] }

func (p *Platform) keep(m *message) {
	p.messages = append(p.messages, m)
	p.byID[m.id] = m
}

func (c *chat) has(appID string) bool { return c != nil && slices.Contains(c.apps, appID) }

// related sets root and parent as an answer to m has them.
func (m *message) related(to *message) {
	m.parent, m.root = to.id, to.id
	if to.root != "" {
		m.root = to.root
	}
}

// thread is the id of the thread below a message, which is made when it is first asked for.
func (p *Platform) thread(root *message) string {
	if root.thread == "" {
		root.thread = p.newID("omt_")
	}
	return root.thread
}

// event is im.message.receive_v1 as the long connection brings it.
func (p *Platform) event(app *App, c *chat, m *message) object {
	kind := "group"
	if c.direct {
		kind = "p2p"
	}
	body := object{
		"message_id": m.id, "create_time": millis(m.at), "update_time": millis(m.at), "chat_id": c.id,
		"chat_type": kind, "message_type": m.kind, "content": m.content,
	}
	optional(body, "root_id", m.root)
	optional(body, "parent_id", m.parent)
	optional(body, "thread_id", m.thread)
	var mentions []object
	for _, who := range m.mentions {
		mentions = append(mentions, object{"key": who.key, "id": person(who.openID), "name": who.name, "tenant_key": tenant})
	}
	if mentions != nil {
		body["mentions"] = mentions
	}
	return object{
		"sender":  object{"sender_id": person(m.sender), "sender_type": m.senderType, "tenant_key": tenant},
		"message": body,
	}
}

// item is the same message as history and sending name it.
func (p *Platform) item(m *message) object {
	idType := "open_id"
	if m.senderType == "app" {
		idType = "app_id"
	}
	item := object{
		"message_id": m.id, "msg_type": m.kind, "create_time": millis(m.at), "update_time": millis(m.at),
		"deleted": m.deleted, "updated": false, "chat_id": m.chat, "body": object{"content": m.content},
		"sender": object{"id": m.sender, "id_type": idType, "sender_type": m.senderType, "tenant_key": tenant},
	}
	if m.deleted {
		item["body"] = object{"content": "This message was recalled"}
	}
	optional(item, "root_id", m.root)
	optional(item, "parent_id", m.parent)
	optional(item, "thread_id", m.thread)
	optional(item, "upper_message_id", m.upper)
	var mentions []object
	for _, who := range m.mentions {
		mentions = append(mentions, object{"key": who.key, "id": who.openID, "id_type": "open_id", "name": who.name, "tenant_key": tenant})
	}
	if mentions != nil {
		item["mentions"] = mentions
	}
	return item
}

const tenant = "tenant"

func person(openID string) object {
	return object{"open_id": openID, "union_id": "on_" + openID, "user_id": nil}
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

func optional(to object, key, value string) {
	if value != "" {
		to[key] = value
	}
}

// encode makes JSON of plain values.
func encode(v any) string {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(text)
}
