package wechattest

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// poll answers with what is behind the cursor, at once or when there is something. It is called without mu.
func (p *Platform) poll(c *call) answer {
	var bot string
	var from uint64
	var bad *answer
	var released int
	p.change(func() {
		released = p.released
		if bad = p.beginPoll(c, &from); bad == nil {
			bot = c.bot.ID
			p.polling[bot]++
		}
	})
	if bad != nil {
		return *bad
	}
	defer p.change(func() { p.polling[bot]-- })
	idle := time.NewTimer(p.opts.Hold)
	defer idle.Stop()
	for {
		p.mu.Lock()
		changed, a, ready := p.Next(), answer{}, false
		switch {
		case p.bot(c.Request) == nil:
			a, ready = sessionOver(), true
		case p.released != released:
			a, ready = p.updates(c, bot, nil, from), true
		default:
			a, ready = p.news(c, bot, from)
		}
		p.mu.Unlock()
		if ready {
			return a
		}
		select {
		case <-changed:
		case <-idle.C:
			return p.updates(c, bot, nil, from)
		case <-c.Context().Done():
			return answer{cut: true}
		case <-p.Context().Done():
			return answer{cut: true}
		}
	}
}

// Release ends the polls that are held, without news. The next ones meet what was injected meanwhile.
func (p *Platform) Release() { p.change(func() { p.released++ }) }

func sessionOver() answer {
	return answer{body: object{"errcode": expired, "errmsg": "session timeout"}}
}

// beginPoll checks a poll and takes its cursor for an acknowledgement.
func (p *Platform) beginPoll(c *call, from *uint64) *answer {
	a := p.authorised(func(c *call) answer {
		var asked struct {
			Cursor *string `json:"get_updates_buf"`
		}
		if err := json.Unmarshal(c.text, &asked); err != nil || asked.Cursor == nil {
			p.Complain("a poll names no get_updates_buf: %v", err)
			return refuse(invalid, "invalid request")
		}
		seq, ok := readCursor(c.bot.ID, *asked.Cursor)
		if !ok {
			p.Complain("a poll names %q, which is no cursor of %s", *asked.Cursor, c.bot.ID)
			return refuse(invalid, "invalid get_updates_buf")
		}
		for _, m := range p.messages {
			if m.bot == c.bot.ID && m.seq <= seq {
				m.acked = true
			}
		}
		*from = seq
		return answer{}
	})(c)
	if a.body != nil {
		return &a
	}
	return nil
}

// news is what a poll brings now, if anything.
func (p *Platform) news(c *call, bot string, from uint64) (a answer, ready bool) {
	if c.fault.Again {
		from = 0
	}
	list := p.behind(bot, from)
	if len(list) == 0 {
		return a, false
	}
	if len(list) > p.opts.Batch {
		list = list[:p.opts.Batch]
	}
	return p.updates(c, bot, list, list[len(list)-1].seq), true
}

func (p *Platform) updates(c *call, bot string, list []*message, to uint64) answer {
	msgs := []object{}
	for _, m := range list {
		for range 1 + c.fault.Copies {
			msgs = append(msgs, m.json(p.cdnFor(c)))
		}
	}
	if c.fault.Reverse {
		slices.Reverse(msgs)
	}
	cursor := ""
	if to > 0 {
		cursor = base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s %d", bot, to))
	}
	// As the live platform's: a success names neither ret nor errcode.
	return ok(object{
		"msgs": msgs, "get_updates_buf": cursor, "sync_buf": cursor, "longpolling_timeout_ms": p.opts.Hold.Milliseconds(),
	})
}

// readCursor reads a cursor that updates made for a bot. "" is the beginning.
func readCursor(bot, cursor string) (seq uint64, ok bool) {
	if cursor == "" {
		return 0, true
	}
	raw, err := base64.StdEncoding.DecodeString(cursor)
	if err != nil {
		return 0, false
	}
	whose, at, _ := strings.Cut(string(raw), " ")
	seq, err = strconv.ParseUint(at, 10, 64)
	return seq, err == nil && whose == bot
}
