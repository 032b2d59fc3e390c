package wechat

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"scv/daemon/channel"
)

// This file makes text and files of what a message contains.

// Types of items. Others tell of tools and carry nothing for us.
const (
	typeText  = "1"
	typeImage = "2"
	typeVoice = "3"
	typeFile  = "4"
	typeVideo = "5"
)

// Bounds in bytes.
const (
	maxQuoted = 16 << 10
	maxRef    = 4 << 10 // of a file's
)

// item is a piece of a message.
type item struct {
	Type jsontext.Value `json:"type"`
	ID   jsontext.Value `json:"msg_id"`
	Text struct {
		Text string `json:"text"`
	} `json:"text_item"`
	Image attached       `json:"image_item"`
	Voice attached       `json:"voice_item"`
	File  attached       `json:"file_item"`
	Video attached       `json:"video_item"`
	Ref   jsontext.Value `json:"ref_msg"`
}

// attached is a file in one of its four forms.
type attached struct {
	Media struct {
		URL   string `json:"full_url"`
		Param string `json:"encrypt_query_param"`
		Key   string `json:"aes_key"`
	} `json:"media"`
	Key  string         `json:"aeskey"` // of an image, in hex digits
	Name string         `json:"file_name"`
	Len  jsontext.Value `json:"len"`
	Text string         `json:"text"` // what was said, as the platform heard it
}

// quote is what a message refers to. Newer clients give the id alone.
type quote struct {
	Title string         `json:"title"`
	ID    jsontext.Value `json:"svr_id"`
	Item  *item          `json:"message_item"`
}

// readQuote reads what an item refers to, if anything: a client that quotes nothing may say so by an empty object. What
// is there and cannot be read is a quote of nobody knows what, and takes no word of the item away.
func readQuote(raw jsontext.Value) (q quote, quotes bool) {
	if channel.ReadJSON(raw, &q) != nil {
		return quote{}, raw != nil
	}
	return q, q.Title != "" || q.Item != nil || q.ID != nil && q.ID.Kind() != 'n'
}

// content is what a message says.
type content struct {
	text           string
	files          []channel.File
	quotes, quoted string
}

func (a *Adapter) content(items []jsontext.Value) (c content) {
	var said strings.Builder
	var quoted []string
	for _, raw := range items {
		var it item
		if channel.ReadJSON(raw, &it) != nil {
			continue // whatever it is
		}
		if q, quotes := readQuote(it.Ref); quotes {
			quoted = append(quoted, a.quote(q, &c))
		}
		a.add(it, &said, &c)
	}
	c.text = strings.TrimSpace(said.String())
	c.quoted = channel.Clip(strings.TrimSpace(strings.Join(quoted, "\n")), maxQuoted)
	return c
}

// add adds what one item says.
func (a *Adapter) add(it item, said *strings.Builder, c *content) {
	kind, at := it.attached()
	switch {
	case it.Type == nil || string(it.Type) == typeText:
		said.WriteString(it.Text.Text)
	case at == nil:
	case kind == channel.Voice && at.Text != "":
		said.WriteString(heard(at.Text) + "\n")
	default:
		c.files = append(c.files, a.file(kind, *at)...)
	}
}

// heard marks what the platform made of spoken words: nobody typed it, so it cannot be the answer to a question.
func heard(words string) string { return "[voice message] " + strings.TrimSpace(words) }

func (it *item) attached() (channel.FileKind, *attached) {
	switch string(it.Type) {
	case typeImage:
		return channel.Image, &it.Image
	case typeVoice:
		return channel.Voice, &it.Voice
	case typeFile:
		return channel.Document, &it.File
	case typeVideo:
		return channel.Video, &it.Video
	}
	return "", nil
}

// unnamed is what a message quotes that says not which message that is: none of ours, so it answers no question.
const unnamed = "?"

// quote is how what is quoted reads. Its id and its file become the message's.
func (a *Adapter) quote(q quote, c *content) string {
	id, known := readID(q.ID)
	parts := []string{}
	if title := strings.TrimSpace(q.Title); title != "" {
		parts = append(parts, title)
	}
	if q.Item != nil {
		if !known {
			id, known = readID(q.Item.ID)
		}
		if label := q.Item.label(); label != "" {
			parts = append(parts, label)
		}
		if kind, at := q.Item.attached(); at != nil && (kind != channel.Voice || at.Text == "") {
			c.files = append(c.files, a.file(kind, *at)...)
		}
	}
	if !known {
		id = unnamed
	}
	if c.quotes == "" {
		c.quotes = id
	}
	return strings.Join(parts, " | ")
}

// label is how an item reads where it is quoted.
func (it *item) label() string {
	kind, at := it.attached()
	switch {
	case at == nil:
		return strings.TrimSpace(it.Text.Text)
	case kind == channel.Voice && at.Text != "":
		return heard(at.Text)
	case kind == channel.Document:
		return strings.TrimSpace("[file "+channel.OneLine(at.Name)) + "]"
	case kind == channel.Voice:
		return "[voice message]"
	}
	return "[" + string(kind) + "]"
}

// place is where a file is and how to read it: what channel.File.Ref says.
type place struct {
	URL   string `json:"url,omitzero"`
	Param string `json:"param,omitzero"`
	Key   string `json:"key,omitzero"` // hex digits; "" for a file that is not encrypted
}

// file is a file that came, none where nothing says where it is. One that could not be fetched has no Ref.
func (a *Adapter) file(kind channel.FileKind, at attached) []channel.File {
	p := place{URL: at.Media.URL, Param: at.Media.Param}
	if p == (place{}) {
		return nil
	}
	if p.URL != "" && p.Param != "" {
		if _, err := a.o.Platform.file(p.URL); err == nil {
			p.Param = ""
		} else {
			p.URL = ""
		}
	}
	f := channel.File{Kind: kind, Name: at.Name, Size: readSize(at.Len)}
	key, err := readKey(at)
	if err != nil {
		return []channel.File{f}
	}
	p.Key = hex.EncodeToString(key)
	if ref, err := json.Marshal(p); err == nil && len(ref) <= maxRef {
		f.Ref = string(ref)
	}
	return []channel.File{f}
}

// readSize reads a size, given as a number or as its digits; 0 is none.
func readSize(raw jsontext.Value) int64 {
	n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// readKey is a file's key, in one of the forms that clients write; none is a file that is not encrypted.
func readKey(at attached) ([]byte, error) {
	if at.Key != "" {
		return keyDigits(at.Key)
	}
	if at.Media.Key == "" {
		return nil, nil
	}
	raw, err := base64.StdEncoding.DecodeString(at.Media.Key)
	if err != nil {
		return nil, errKey
	}
	if len(raw) == keySize {
		return raw, nil
	}
	return keyDigits(string(raw))
}

func keyDigits(digits string) ([]byte, error) {
	key, err := hex.DecodeString(digits)
	if err != nil || len(key) != keySize {
		return nil, errKey
	}
	return key, nil
}
