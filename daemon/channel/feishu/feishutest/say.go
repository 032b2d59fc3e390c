package feishutest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Option says more of a message.
type Option func(*Platform, *said)

type said struct {
	*message
	silent    bool
	forwarded []string
}

// ID gives a message its id; without it the platform does.
func ID(id string) Option { return func(_ *Platform, s *said) { s.id = id } }

// At gives it a time of its own.
func At(at time.Time) Option { return func(_ *Platform, s *said) { s.at = at } }

// Unheard keeps a message from being pushed: it is in the history only.
func Unheard() Option { return func(_ *Platform, s *said) { s.silent = true } }

// FromApp makes another app the sender.
func FromApp() Option { return func(_ *Platform, s *said) { s.senderType = "app" } }

// Mention mentions somebody, by open_id: where the text has "@" and the name of whom, or before it.
func Mention(openIDs ...string) Option {
	return func(p *Platform, s *said) {
		for _, openID := range openIDs {
			who := mention{key: fmt.Sprintf("@_user_%d", len(s.mentions)+1), openID: openID, name: p.name(openID)}
			s.mentions = append(s.mentions, who)
		}
	}
}

// Quote answers a message.
func Quote(messageID string) Option {
	return func(p *Platform, s *said) {
		if m := p.message(messageID); m != nil {
			s.related(m)
		} else {
			s.parent, s.root = messageID, messageID
		}
	}
}

// InThread writes into the thread below a message.
func InThread(rootID string) Option {
	return func(p *Platform, s *said) {
		if root := p.message(rootID); root != nil {
			s.parent, s.root, s.thread = rootID, rootID, p.thread(root)
		}
	}
}

// Content sends another kind of message than a text: its content is JSON.
func Content(kind, content string) Option {
	return func(_ *Platform, s *said) { s.kind, s.content = kind, content }
}

// Post sends a post of paragraphs; each holds elements such as {"tag": "text", "text": "hello"}.
func Post(title string, paragraphs ...[]map[string]any) Option {
	return Content("post", encode(object{"title": title, "content": paragraphs}))
}

// Image sends an image.
func Image(data []byte) Option {
	return func(p *Platform, s *said) {
		key := p.store("img_v3_", &blob{name: "image", data: data, image: true})
		s.kind, s.content = "image", encode(object{"image_key": key})
	}
}

// File sends a file.
func File(name string, data []byte) Option {
	return func(p *Platform, s *said) {
		key := p.store("file_v3_", &blob{name: name, data: data})
		s.kind, s.content = "file", encode(object{"file_key": key, "file_name": name})
	}
}

// Audio sends what somebody spoke.
func Audio(data []byte) Option {
	return func(p *Platform, s *said) {
		key := p.store("file_v3_", &blob{name: "audio.opus", data: data})
		s.kind, s.content = "audio", encode(object{"file_key": key, "duration": 1000})
	}
}

// Video sends a video.
func Video(name string, data []byte) Option {
	return func(p *Platform, s *said) {
		key := p.store("file_v3_", &blob{name: name, data: data})
		still := p.store("img_v3_", &blob{name: "still", data: []byte("still"), image: true})
		s.kind = "media"
		s.content = encode(object{"file_key": key, "image_key": still, "file_name": name, "duration": 1000})
	}
}

// Forward sends copies of messages as one bundle.
func Forward(messageIDs ...string) Option {
	return func(_ *Platform, s *said) {
		s.kind, s.content = "merge_forward", encode(object{"content": "Merged and Forwarded Message"})
		s.forwarded = messageIDs
	}
}

// Say writes a message as a person and returns its id. It is pushed to the apps whose bots may hear it.
func (p *Platform) Say(chatID, sender, text string, opts ...Option) (id string) {
	p.change(func() {
		s := &said{message: &message{chat: chatID, kind: "text", sender: sender, senderType: "user", at: p.Now()}}
		for _, opt := range opts {
			opt(p, s)
		}
		if s.kind == "text" && s.content == "" {
			s.content = encode(object{"text": s.keyed(text)})
		}
		if s.id == "" {
			s.id = p.newID("om_")
		}
		id = s.id
		p.keep(s.message)
		for _, of := range s.forwarded {
			if m := p.message(of); m != nil {
				part := *m
				part.id, part.upper = p.newID("om_"), s.id
				p.keep(&part)
			}
		}
		if c := p.chat(chatID); c != nil && !s.silent {
			p.tell(c, s.message)
		}
	})
	return id
}

// keyed puts the keys of mentions where the text has names.
func (s *said) keyed(text string) string {
	for i := len(s.mentions) - 1; i >= 0; i-- {
		who := s.mentions[i]
		if named := "@" + who.name; strings.Contains(text, named) {
			text = strings.Replace(text, named, who.key, 1)
		} else {
			text = who.key + " " + text
		}
	}
	return text
}

// tell pushes a message to every app that hears it and is connected.
func (p *Platform) tell(c *chat, m *message) {
	for _, id := range c.apps {
		app := p.app(id)
		if app == nil || !c.direct && !app.Groups && !m.mentioned(app.BotID) {
			continue
		}
		p.push(app, "im.message.receive_v1", m.id, p.event(app, c, m))
	}
}

func (m *message) mentioned(openID string) bool {
	for _, who := range m.mentions {
		if who.openID == openID {
			return true
		}
	}
	return false
}

// Read tells an app that a person has read messages of its bot.
func (p *Platform) Read(appID, reader string, messageIDs ...string) {
	p.Event(appID, "im.message.message_read_v1", object{
		"reader":          object{"reader_id": person(reader), "read_time": millis(p.Now()), "tenant_key": tenant},
		"message_id_list": messageIDs,
	})
}

// Event pushes any event to an app's sockets.
func (p *Platform) Event(appID, kind string, event map[string]any) {
	p.change(func() {
		if app := p.app(appID); app != nil {
			p.push(app, kind, "", event)
		}
	})
}

// Upload keeps bytes as a post's image or file and returns the key.
func (p *Platform) Upload(image bool, name string, data []byte) (key string) {
	prefix := "file_v3_"
	if image {
		prefix = "img_v3_"
	}
	p.change(func() { key = p.store(prefix, &blob{name: name, data: data, image: image}) })
	return key
}

// blob is a stored file.
type blob struct {
	app   string // which uploaded it, "" for a person's
	name  string
	data  []byte
	image bool
}

func (p *Platform) store(prefix string, b *blob) string {
	key := p.newID(prefix)
	p.stored[key] = b
	return key
}

// Blob is what is stored under an image_key or file_key, nil for nothing.
func (p *Platform) Blob(key string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.stored[key]; b != nil {
		return append([]byte{}, b.data...)
	}
	return nil
}

// contentType is how a stored file is served.
func (b *blob) contentType() string {
	if b.image {
		return http.DetectContentType(b.data)
	}
	return "application/octet-stream"
}
