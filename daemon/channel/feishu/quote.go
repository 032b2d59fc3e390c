package feishu

import (
	"context"
	"net/url"
	"strings"
	"time"

	"scv/daemon/channel"
)

// Bounds of looking up what a message refers to. It delays the message, so it is short.
const (
	lookupTime = 5 * time.Second
	maxQuoted  = 16 << 10 // bytes
	maxBundle  = 50       // messages of a forwarded bundle
	maxRoots   = 64       // threads whose beginnings are kept, each of maxQuoted at most
)

const notFound = "[the message it refers to could not be looked up]"

type lookupAnswer struct {
	Data struct {
		Items []record `json:"items"`
	} `json:"data"`
}

func (a *Adapter) lookUp(ctx context.Context, id string) ([]record, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	got, err := get[lookupAnswer](ctx, a.api, "/open-apis/im/v1/messages/"+url.PathEscape(id), nil)
	if err != nil {
		a.o.Log.Warn("a quoted message cannot be looked up", "account", a.o.Account.ID(), "err", err)
	}
	return got.Data.Items, err
}

// quoted is the text of the message with that id.
func (a *Adapter) quoted(ctx context.Context, id string) string {
	records, err := a.lookUp(ctx, id)
	if err != nil || len(records) == 0 {
		return notFound
	}
	return channel.Clip(a.shown(records[0]), maxQuoted)
}

// rootOf is the text of the message that an item's thread began with. Each message of a thread has it, since only the
// turn knows whether its agent has seen it; it is looked up once.
func (a *Adapter) rootOf(ctx context.Context, it item) string {
	if text, known := a.roots[it.thread]; known {
		return text
	}
	text := a.quoted(ctx, it.root)
	if text == notFound {
		return text // the next one may find it
	}
	if a.roots == nil || len(a.roots) >= maxRoots {
		a.roots = map[string]string{}
	}
	a.roots[it.thread] = text
	return text
}

// bundle is the text of the messages that were forwarded in the message with that id.
func (a *Adapter) bundle(ctx context.Context, id string) string {
	records, err := a.lookUp(ctx, id)
	if err != nil {
		return "[forwarded messages] " + notFound
	}
	lines := []string{"[forwarded messages]"}
	for _, r := range records {
		if r.Upper == id && len(lines) <= maxBundle {
			lines = append(lines, "- "+strings.ReplaceAll(channel.Lines(a.shown(r)), "\n", "\n  "))
		}
	}
	return channel.Clip(strings.Join(lines, "\n"), maxQuoted)
}

// shown is a message that others refer to: a file in it has only its kind.
func (a *Adapter) shown(r record) string {
	it := r.item("", false)
	text, _ := renderer{it.mentions, ""}.render(it.kind, it.content)
	if text == "" {
		return "[" + it.kind + "]"
	}
	return text
}
