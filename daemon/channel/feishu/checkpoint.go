package feishu

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"scv/daemon/channel"
)

// Bounds of what a checkpoint remembers; the oldest is dropped first, the owner's own chat last.
const (
	maxChats   = 64
	maxThreads = 64
)

// checkpoint says how far the messages of each known chat were taken. It is the account's cursor.
type checkpoint struct {
	Chats   map[string]place `json:"chats"`
	Threads map[string]place `json:"threads"`
}

// place is a chat, or a thread in one.
type place struct {
	Chat   string `json:"chat,omitzero"` // that a thread is in
	Group  bool   `json:"group,omitzero"`
	Owner  bool   `json:"owner,omitzero"` // the owner writes there
	LastMS int64  `json:"last_ms"`        // when the newest message that was taken was sent
}

// unsure is the time in milliseconds since when something may be missing. What was taken since then comes
// again, and the daemon knows it. A message that was dated in the future hides nothing that comes before that.
func (p place) unsure(now time.Time) int64 {
	return max(min(p.LastMS, now.UnixMilli())-overlap.Milliseconds(), 0)
}

// parseCheckpoint reads a cursor. One that cannot be read begins anew: what was missed meanwhile stays
// missed, and nothing else.
func parseCheckpoint(cursor string) (c checkpoint, err error) {
	if cursor != "" {
		if err = channel.ReadJSON([]byte(cursor), &c); err != nil {
			c, err = checkpoint{}, fmt.Errorf("cannot read the checkpoint: %w", err)
		}
	}
	if c.Chats == nil {
		c.Chats = map[string]place{}
	}
	if c.Threads == nil {
		c.Threads = map[string]place{}
	}
	return c, err
}

func (c checkpoint) format() (string, error) {
	b, err := json.Marshal(c, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("cannot write the checkpoint: %w", err)
	}
	return string(b), nil
}

// note moves the checkpoint past a message, whoever wrote it: in the list or the lists that it stands in. A thread is
// known from the first message in it that concerns the bot, since others of a busy group would push such out.
func (c checkpoint) note(it item, owner string, concerns bool) {
	if it.listed {
		move(c.Chats, it.chat, place{Group: !it.direct}, it, owner)
		bound(c.Chats, maxChats)
	}
	if _, known := c.Threads[it.thread]; known || concerns && it.thread != "" {
		move(c.Threads, it.thread, place{Chat: it.chat, Group: !it.direct}, it, owner)
		bound(c.Threads, maxThreads)
	}
}

func move(in map[string]place, id string, p place, it item, owner string) {
	before := in[id]
	p.Owner = before.Owner || owner != "" && it.sender == owner
	p.LastMS = before.LastMS
	if !it.sent.IsZero() {
		p.LastMS = max(p.LastMS, it.sent.UnixMilli())
	}
	in[id] = p
}

func bound(in map[string]place, limit int) {
	if len(in) > limit {
		byAge := newest(in)
		delete(in, byAge[len(byAge)-1])
	}
}

// know adds a direct chat of the owner in which nothing was received yet.
func (c checkpoint) know(chat string, sinceMS int64) (added bool) {
	if _, known := c.Chats[chat]; known || chat == "" {
		return false
	}
	c.Chats[chat] = place{Owner: true, LastMS: sinceMS}
	return true
}

// newest lists places, those of the owner and then the latest first.
func newest(in map[string]place) []string {
	return slices.SortedFunc(maps.Keys(in), func(a, b string) int {
		if in[a].Owner != in[b].Owner {
			if in[a].Owner {
				return -1
			}
			return 1
		}
		switch {
		case in[a].LastMS > in[b].LastMS:
			return -1
		case in[a].LastMS < in[b].LastMS:
			return 1
		}
		return 0
	})
}
