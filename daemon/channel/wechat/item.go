package wechat

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"scv/daemon/channel"
)

// written is a message as the platform has it. What it may give in more than one form is left as it stands.
type written struct {
	ID     jsontext.Value   `json:"message_id"`
	OldID  jsontext.Value   `json:"msg_id"`
	Type   jsontext.Value   `json:"message_type"`
	From   string           `json:"from_user_id"`
	Handle string           `json:"context_token"`
	Group  jsontext.Value   `json:"group_id"`
	SentMS jsontext.Value   `json:"create_time_ms"`
	Items  []jsontext.Value `json:"item_list"`
}

const (
	ofAUser   = "1" // message_type
	maxHandle = 16 << 10
)

// message reads what somebody wrote. Not ok is what is nobody's message to the bot, or could not be answered: the
// cursor moves past it all the same, since it would be no better when it came again.
func (a *Adapter) message(raw jsontext.Value) (m channel.Message, ok bool) {
	var w written
	if channel.ReadJSON(raw, &w) != nil {
		a.dropped("it cannot be read")
		return m, false
	}
	if w.ID == nil {
		w.ID = w.OldID
	}
	id, known := readID(w.ID)
	switch {
	case !known:
		a.dropped("it has no usable id")
		return m, false
	case string(w.Type) != ofAUser: // a bot's own words
		return m, false
	case !isName(w.From) || w.Handle == "" || len(w.Handle) > maxHandle || strings.ContainsFunc(w.Handle, unicode.IsControl):
		a.dropped("it says not who wrote it, or has nothing to answer it with")
		return m, false
	}
	c := a.content(w.Items)
	if c.text == "" && c.quoted == "" && len(c.files) == 0 {
		a.dropped("it has neither words nor a file that can be read")
		return m, false
	}
	m = channel.Message{
		ID: id, Chat: w.From, Sender: w.From, Direct: true, Text: c.text, Files: c.files, Quotes: c.quotes, Quoted: c.quoted,
		ReplyHandle: w.Handle, SentAt: readMillis(w.SentMS),
	}
	if group := groupOf(w.Group); group != "" {
		m.Chat, m.Direct, m.ReplyHandle = group, false, handleInGroup(w.From, w.Handle)
	}
	return m, true
}

func (a *Adapter) dropped(why string) {
	a.o.Log.Warn("a message was dropped", "account", a.o.Account.ID(), "why", why)
}

// readID reads an id: a string, or a whole number of 64 bits in its exact decimal form. Most are beyond what a
// float holds.
func readID(raw jsontext.Value) (id string, ok bool) {
	switch raw.Kind() {
	case '"':
		if channel.ReadJSON(raw, &id) != nil {
			return "", false
		}
		return id, isName(id)
	case '0':
		_, err := strconv.ParseUint(string(raw), 10, 64)
		return string(raw), err == nil
	}
	return "", false
}

// isName reports whether a text can name something: conversations are told apart by names with a control
// character between them.
func isName(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsFunc(id, unicode.IsControl)
}

// groupOf is the group that a message stands in, "" for a direct chat. What is no string is a group all the same:
// who is in doubt is not the owner alone.
func groupOf(raw jsontext.Value) string {
	var group string
	switch {
	case raw == nil || raw.Kind() == 'n':
		return ""
	case raw.Kind() == '"' && channel.ReadJSON(raw, &group) == nil && (group == "" || isName(group)):
		return group
	}
	return channel.Clip(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, string(raw)), maxID)
}

// readMillis reads a time, given as a number or as its digits; zero is none.
func readMillis(raw jsontext.Value) time.Time { return channel.Millis(strings.Trim(string(raw), `"`)) }

// handleInGroup also says who is answered: with a token the platform wants the writer, not the group.
func handleInGroup(sender, handle string) string { return sender + "\n" + handle }

// readHandle is who a handle answers, "" for the chat's own, and its token.
func readHandle(handle string) (to, token string) {
	to, token, grouped := strings.Cut(handle, "\n")
	if !grouped {
		return "", handle
	}
	return to, token
}
