package feishu

import (
	"errors"
	"strings"
	"time"
	"unicode"

	"scv/daemon/channel"
)

// item is a message as the platform has it, whichever way it came.
type item struct {
	id, chat      string
	kind, content string
	sent          time.Time // zero where the platform gives none
	sender        string    // open_id; "" when a program wrote it
	direct        bool
	mentions      []mention
	parent, root  string
	thread        string
	upper         string // the bundle it was forwarded in
	deleted       bool
	listed        bool // it stands in its chat's list: replies in threads do not
}

// event is what the long connection delivers.
type event struct {
	Header struct {
		Type string `json:"event_type"`
	} `json:"header"`
	Event struct {
		Sender struct {
			Type string  `json:"sender_type"`
			ID   openIDs `json:"sender_id"`
		} `json:"sender"`
		Message struct {
			ID       string `json:"message_id"`
			Chat     string `json:"chat_id"`
			ChatType string `json:"chat_type"`
			Kind     string `json:"message_type"`
			Content  string `json:"content"`
			Created  string `json:"create_time"`
			Parent   string `json:"parent_id"`
			Root     string `json:"root_id"`
			Thread   string `json:"thread_id"`
			Mentions []struct {
				Key  string  `json:"key"`
				ID   openIDs `json:"id"`
				Name string  `json:"name"`
			} `json:"mentions"`
		} `json:"message"`
	} `json:"event"`
}

type openIDs struct {
	OpenID string `json:"open_id"`
}

const messageEvent = "im.message.receive_v1"

var errMalformed = errors.New("a message event cannot be read")

// parseEvent reads an event. Not ours means that it tells of no message.
func parseEvent(raw []byte) (it item, ours bool, err error) {
	var kind struct {
		Header struct {
			Type string `json:"event_type"`
		} `json:"header"`
	}
	if channel.ReadJSON(raw, &kind) != nil {
		return item{}, false, errMalformed
	}
	if kind.Header.Type != messageEvent {
		return item{}, false, nil
	}
	var e event
	if channel.ReadJSON(raw, &e) != nil {
		return item{}, true, errMalformed
	}
	m := e.Event.Message
	it = item{
		id: m.ID, chat: m.Chat, kind: m.Kind, content: m.Content, sent: channel.Millis(m.Created),
		direct: m.ChatType == "p2p", parent: m.Parent, root: m.Root, thread: m.Thread,
		listed: m.Thread == "" || m.Root == "",
	}
	if e.Event.Sender.Type == "user" {
		it.sender = e.Event.Sender.ID.OpenID
	}
	for _, at := range m.Mentions {
		it.mentions = append(it.mentions, mention{at.Key, at.ID.OpenID, at.Name})
	}
	return it, true, it.check()
}

// record is a message in a list or a look-up, where half of its members have other names.
type record struct {
	ID      string `json:"message_id"`
	Chat    string `json:"chat_id"`
	Kind    string `json:"msg_type"`
	Created string `json:"create_time"`
	Deleted bool   `json:"deleted"`
	Parent  string `json:"parent_id"`
	Root    string `json:"root_id"`
	Thread  string `json:"thread_id"`
	Upper   string `json:"upper_message_id"`
	Body    struct {
		Content string `json:"content"`
	} `json:"body"`
	Sender struct {
		ID     string `json:"id"`
		IDType string `json:"id_type"`
		Type   string `json:"sender_type"`
	} `json:"sender"`
	Mentions []struct {
		Key  string `json:"key"`
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"mentions"`
}

func (r record) item(chat string, direct bool) item {
	it := item{
		id: r.ID, chat: chat, kind: r.Kind, content: r.Body.Content, sent: channel.Millis(r.Created), direct: direct,
		parent: r.Parent, root: r.Root, thread: r.Thread, upper: r.Upper, deleted: r.Deleted,
	}
	if r.Sender.Type == "user" && r.Sender.IDType == "open_id" {
		it.sender = r.Sender.ID
	}
	for _, m := range r.Mentions {
		it.mentions = append(it.mentions, mention{m.Key, m.ID, m.Name})
	}
	return it
}

// check refuses what cannot be handled at all.
func (it item) check() error {
	for _, id := range []string{it.id, it.chat} {
		if id == "" || len(id) > 256 || strings.ContainsFunc(id, unicode.IsControl) {
			return errMalformed
		}
	}
	for _, id := range []string{it.sender, it.thread, it.root, it.parent} {
		if len(id) > 256 || strings.ContainsFunc(id, unicode.IsControl) {
			return errMalformed
		}
	}
	return nil
}

// concerns reports whether a person wrote it to the bot: in the chat with it, or naming it in a group.
func (it item) concerns(bot string) bool {
	if it.sender == "" || it.deleted || it.kind == "system" {
		return false
	}
	if it.direct {
		return true
	}
	for _, m := range it.mentions {
		if bot != "" && m.id == bot {
			return true
		}
	}
	return false
}

// calls reports whether it calls on somebody in a group, who may be the bot.
func (it item) calls() bool { return !it.direct && len(it.mentions) > 0 }
