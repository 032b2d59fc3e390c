package wechattest

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// message is what somebody wrote to a bot.
type message struct {
	bot    string
	seq    uint64 // place in the bot's list
	id     string
	from   string
	group  string
	fields object // of the message, without its items
	items  []item
	ref    object // what its first item quotes
	acked  bool
}

// item is one of a message's items; cdn is where its reader finds files.
type item func(cdn string) object

// Option says more of a message.
type Option func(*Platform, *message)

// ID gives a message a string for an id; without it the platform gives it a number.
func ID(id string) Option {
	return func(_ *Platform, m *message) { m.id, m.fields["message_id"] = id, id }
}

// RawID gives it any JSON for an id, such as 1e3, -1 or null.
func RawID(raw string) Option {
	return func(_ *Platform, m *message) { m.id, m.fields["message_id"] = raw, jsontext.Value(raw) }
}

// At gives it a time of its own.
func At(at time.Time) Option { return With("create_time_ms", at.UnixMilli()) }

// With sets a field of the message; nil takes it away.
func With(name string, value any) Option {
	return func(_ *Platform, m *message) {
		if m.fields[name] = value; value == nil {
			delete(m.fields, name)
		}
	}
}

// InGroup writes into a group that the bot is in.
func InGroup(id string) Option {
	return func(_ *Platform, m *message) { m.group, m.fields["group_id"] = id, id }
}

// FromBot makes a bot the writer: nobody answers it.
func FromBot() Option { return With("message_type", 2) }

// Item adds an item as it stands.
func Item(it map[string]any) Option {
	return func(_ *Platform, m *message) { m.items = append(m.items, func(string) object { return it }) }
}

// Quote quotes a text in the message's first item, with what the quoted one's summary says.
func Quote(title, text string) Option {
	return refer(object{"title": title, "message_item": object{"type": 1, "text_item": object{"text": text}}})
}

// QuoteID quotes a message by its id alone, as newer clients do.
func QuoteID(id string) Option { return refer(object{"svr_id": jsonID(id)}) }

func refer(to object) Option { return func(_ *Platform, m *message) { m.ref = to } }

// Image sends an image.
func Image(data []byte) Option {
	return func(p *Platform, m *message) {
		b := p.store(&blob{data: data, key: newKey()})
		m.items = append(m.items, func(cdn string) object {
			media := p.media(b, cdn, base64.StdEncoding.EncodeToString(b.key))
			return object{"type": 2, "image_item": object{"media": media, "aeskey": hex.EncodeToString(b.key), "mid_size": b.size()}}
		})
	}
}

// PlainImage sends an image that is not encrypted.
func PlainImage(data []byte) Option {
	return func(p *Platform, m *message) {
		b := p.store(&blob{data: data})
		m.items = append(m.items, func(cdn string) object {
			return object{"type": 2, "image_item": object{"media": p.media(b, cdn, "")}}
		})
	}
}

// File sends a file.
func File(name string, data []byte) Option {
	return encrypted("file_item", 4, data, object{"file_name": name, "len": strconv.Itoa(len(data))})
}

// Voice sends what somebody spoke, with the platform's transcript of it or "".
func Voice(data []byte, transcript string) Option {
	fields := object{"encode_type": 6, "sample_rate": 24000, "playtime": 1000}
	if transcript != "" {
		fields["text"] = transcript
	}
	return encrypted("voice_item", 3, data, fields)
}

// Video sends a video.
func Video(data []byte) Option {
	return encrypted("video_item", 5, data, object{"play_length": 1, "video_size": len(data)})
}

// encrypted is an item with an encrypted file, whose key is in base64 of hex digits.
func encrypted(name string, kind int, data []byte, fields object) Option {
	return func(p *Platform, m *message) {
		b := p.store(&blob{data: data, key: newKey()})
		m.items = append(m.items, func(cdn string) object {
			with := object{"media": p.media(b, cdn, base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString(b.key))))}
			maps.Copy(with, fields)
			return object{"type": kind, name: with}
		})
	}
}

// Say writes a message to a bot as a person, and returns its id.
func (p *Platform) Say(botID, from, text string, opts ...Option) (id string) {
	p.change(func() {
		p.last++
		m := &message{bot: botID, seq: p.last, id: strconv.FormatUint(p.last, 10), from: from}
		at := p.Now().UnixMilli()
		m.fields = object{
			"seq": m.seq, "message_id": m.seq, "from_user_id": from, "to_user_id": botID, "client_id": "", "session_id": "",
			"create_time_ms": at, "update_time_ms": at, "message_type": 1, "message_state": 2,
			"context_token": p.newID("context"),
		}
		if text != "" {
			m.items = append(m.items, func(string) object {
				return object{"type": 1, "create_time_ms": at, "is_completed": true, "text_item": object{"text": text}}
			})
		}
		for _, opt := range opts {
			opt(p, m)
		}
		if token, _ := m.fields["context_token"].(string); token != "" {
			p.handles[token] = &handle{bot: botID, message: m.id, from: from, group: m.group}
		}
		p.messages = append(p.messages, m)
		id = m.id
	})
	return id
}

// json is the message as a poll brings it.
func (m *message) json(cdn string) object {
	all := maps.Clone(m.fields)
	items := []object{}
	for i, it := range m.items {
		items = append(items, maps.Clone(it(cdn)))
		if i == 0 && m.ref != nil {
			items[0]["ref_msg"] = m.ref
		}
	}
	if _, given := m.fields["item_list"]; !given {
		all["item_list"] = items
	}
	return all
}

// Acked reports whether a bot has shown a cursor behind a message.
func (p *Platform) Acked(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := false
	for _, m := range p.messages {
		if m.id == id {
			if found = true; !m.acked {
				return false
			}
		}
	}
	return found
}

// Polls reports how many polls of a bot are held now.
func (p *Platform) Polls(botID string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.polling[botID]
}

// Running reports how often a bot's client told that it starts and not that it stops.
func (p *Platform) Running(botID string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.started[botID]
}

// jsonID is a number where the id is one, and a string otherwise.
func jsonID(id string) any {
	if id != "" && !strings.ContainsFunc(id, func(r rune) bool { return r < '0' || r > '9' }) {
		return jsontext.Value(id)
	}
	return id
}

// behind are a bot's messages after a place, the oldest first.
func (p *Platform) behind(botID string, seq uint64) (all []*message) {
	for _, m := range p.messages {
		if m.bot == botID && m.seq > seq {
			all = append(all, m)
		}
	}
	return slices.Clip(all)
}
