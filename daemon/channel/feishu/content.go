package feishu

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"scv/daemon/channel"
)

// This file makes plain text of what a message contains.

const maxCard = 2000 // bytes of a card's text

// mention is somebody whom a text names by a key.
type mention struct{ key, id, name string }

// renderer knows whom keys name. The bot's own mention is left out: it is only how it was called.
type renderer struct {
	mentions []mention
	bot      string
}

// attachment is a file in a message, as the platform names it.
type attachment struct {
	kind channel.FileKind
	name string // "" where it has none
	key  string // "" where the message does not say
}

// render is the text of a message and the files in it. A lone file has no text: there is nothing in it that says
// what to do.
func (r renderer) render(kind, content string) (text string, files []attachment) {
	var c struct {
		Text     string `json:"text"`
		Name     string `json:"name"` // of a place
		ImageKey string `json:"image_key"`
		FileKey  string `json:"file_key"`
		FileName string `json:"file_name"`
	}
	whole := channel.ReadJSON([]byte(content), &c) == nil
	one := func(kind channel.FileKind, key string) []attachment { return []attachment{{kind, c.FileName, key}} }
	switch kind {
	case "text":
		if !whole {
			return "[a text that cannot be read]", nil
		}
		return r.named(c.Text), nil
	case "post":
		return r.post(content)
	case "image":
		return "", one(channel.Image, c.ImageKey)
	case "file":
		return "", one(channel.Document, c.FileKey)
	case "audio": // the platform puts none of it into words
		return "", one(channel.Voice, c.FileKey)
	case "media":
		return "", one(channel.Video, c.FileKey)
	case "sticker":
		return "[sticker]", nil
	case "share_chat":
		return "[a group's card]", nil
	case "share_user":
		return "[a person's card]", nil
	case "location":
		return strings.TrimSpace("[location "+c.Name) + "]", nil
	case "interactive":
		return r.card(content), nil
	case "merge_forward":
		return "[forwarded messages]", nil
	}
	return "[" + kind + " message]", nil
}

// named puts names where a text has keys. A longer key comes first: @_user_1 must not eat into @_user_10.
func (r renderer) named(text string) string {
	byLength := slices.Clone(r.mentions)
	slices.SortStableFunc(byLength, func(a, b mention) int { return len(b.key) - len(a.key) })
	var pairs []string
	for _, m := range byLength {
		if m.key != "" {
			pairs = append(pairs, m.key, r.name(m))
		}
	}
	return strings.TrimSpace(strings.NewReplacer(pairs...).Replace(text))
}

func (r renderer) name(m mention) string {
	if m.id == r.bot && r.bot != "" {
		return ""
	}
	return "@" + channel.OneLine(m.name)
}

type richText struct {
	Title   string       `json:"title"`
	Content [][]postPart `json:"content"`
}

type postPart struct {
	Tag      string `json:"tag"`
	Text     string `json:"text"`
	Href     string `json:"href"`
	UserID   string `json:"user_id"` // the mention's key
	UserName string `json:"user_name"`
	Emoji    string `json:"emoji_type"`
	ImageKey string `json:"image_key"`
	FileKey  string `json:"file_key"`
}

// post reads rich text, which may be wrapped in the name of a language.
func (r renderer) post(content string) (text string, files []attachment) {
	var p richText
	if err := channel.ReadJSON([]byte(content), &p); err != nil || p.Content == nil {
		var wrapped map[string]jsontext.Value
		if channel.ReadJSON([]byte(content), &wrapped) != nil {
			return "[a post that cannot be read]", nil
		}
		for _, inner := range wrapped {
			if channel.ReadJSON(inner, &p) == nil && p.Content != nil {
				break
			}
		}
	}
	lines, worded := []string{p.Title}, p.Title != ""
	for _, paragraph := range p.Content {
		var line strings.Builder
		for _, part := range paragraph {
			shown, file := r.part(part)
			line.WriteString(shown)
			if file != nil {
				files = append(files, *file)
			} else if strings.TrimSpace(shown) != "" {
				worded = true
			}
		}
		lines = append(lines, line.String())
	}
	if !worded {
		return "", files
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), files
}

func (r renderer) part(p postPart) (shown string, file *attachment) {
	switch p.Tag {
	case "a":
		if p.Href != "" && p.Href != p.Text {
			return p.Text + " (" + p.Href + ")", nil
		}
	case "at":
		return r.at(p), nil
	case "img":
		return "[image]", &attachment{kind: channel.Image, key: p.ImageKey}
	case "media":
		return "[video]", &attachment{kind: channel.Video, key: p.FileKey}
	case "emotion":
		return "[" + p.Emoji + "]", nil
	}
	return p.Text, nil
}

func (r renderer) at(p postPart) string {
	for _, m := range r.mentions {
		if m.key == p.UserID || m.id == p.UserID {
			return r.name(m)
		}
	}
	return "@" + channel.OneLine(p.UserName)
}

// card is what can be read of a card, in the order in which it stands there.
func (r renderer) card(content string) string {
	var words []string
	dec := jsontext.NewDecoder(strings.NewReader(content), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	said, size := false, 0
	for size < maxCard {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		around, length := dec.StackIndex(dec.StackDepth())
		isName := around == '{' && length%2 == 1
		if token.Kind() != '"' {
			said = false
			continue
		}
		switch word := token.String(); {
		case isName:
			said = word == "text" || word == "content" || word == "title"
		case said && strings.TrimSpace(word) != "":
			words, size, said = append(words, word), size+len(word)+1, false
		}
	}
	return strings.TrimSpace("[card] " + channel.Clip(strings.Join(words, "\n"), maxCard))
}
