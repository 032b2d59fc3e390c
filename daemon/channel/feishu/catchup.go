package feishu

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Bounds of one look at what was missed. What is more comes in the next look, which follows at once.
const (
	lookPages = 4  // of one place that have anything new; no more of it are in memory at any time
	lookBegun = 64 // threads that are not known, besides all places that are
	lookBack  = 24 * time.Hour
	overlap   = time.Minute // before the checkpoint: a message may still be on its way when a later one is taken
)

// catchUp takes what was written while no connection stood, before anything newer: an answer that is
// older than its question must not look newer, and an order once given stays the order.
func (a *Adapter) catchUp(ctx context.Context) error {
	a.before = maps.Clone(a.known.Chats)
	items, spots, err := a.survey(ctx)
	if err != nil {
		return err
	}
	return a.bring(ctx, items, spots)
}

// bring takes items and what was missed in the spots, oldest first.
func (a *Adapter) bring(ctx context.Context, items []item, spots []spot) error {
	taken := map[string]bool{} // the newest of a place are listed again
	for len(items)+len(spots) > 0 {
		found, rest, err := a.missed(ctx, spots, taken)
		if err != nil {
			return err
		}
		if items = append(items, found...); len(items) == 0 {
			return nil
		}
		rest = append(rest, a.unlooked(items, spots)...)
		slices.SortStableFunc(items, func(a, b item) int { return a.sent.Compare(b.sent) })
		if err := a.take(ctx, items); err != nil {
			return err
		}
		for _, it := range items {
			taken[it.id] = true
		}
		items, spots = nil, rest
	}
	return nil
}

// spot is a chat or a thread that is looked at.
type spot struct {
	id   string
	from place // what was known of it when the connection came
}

// place is what is known of a spot by now.
func (a *Adapter) place(s spot) place {
	in := a.known.Chats
	if s.from.Chat != "" {
		in = a.known.Threads
	}
	if p, known := in[s.id]; known {
		return p
	}
	return s.from
}

// survey looks at the newest of each known chat after a connection has come. What was missed in a chat is in items,
// unless it is more than one look takes. That, all known threads and those that may have been begun are still to be
// looked at. So where nothing was written a chat costs one request, and so does a thread.
func (a *Adapter) survey(ctx context.Context) (items []item, rest []spot, err error) {
	var begun []spot
	for _, id := range newest(a.known.Chats) {
		s := spot{id, a.known.Chats[id]}
		news, whole, threads, err := a.surveyChat(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		if whole {
			items = append(items, news...)
		} else {
			rest = append(rest, s)
		}
		begun = append(begun, threads...)
	}
	for _, id := range newest(a.known.Threads) {
		rest = append(rest, spot{id, a.known.Threads[id]})
	}
	slices.SortStableFunc(begun, func(a, b spot) int { return a.from.rank() - b.from.rank() })
	if left := len(begun) - lookBegun; left > 0 {
		a.o.Log.Warn("so many new threads are not looked at before their next message", "account", a.o.Account.ID(), "threads", left)
	}
	return items, append(rest, begun[:min(len(begun), lookBegun)]...), nil
}

// unlooked are the threads of some messages, not taken yet, that nobody has looked at: what began them is too far back in
// the list of their chat, or was not known when that was read. Once the messages are taken, nothing would look for what
// was missed in the threads.
func (a *Adapter) unlooked(items []item, looked []spot) (spots []spot) {
	dayAgo := a.api.now().Add(-lookBack).UnixMilli()
	for _, it := range items {
		chat, there := a.before[it.chat]
		_, known := a.known.Threads[it.thread]
		if it.thread == "" || known || !there || !it.concerns(a.bot) {
			continue
		}
		same := func(s spot) bool { return s.id == it.thread }
		if !slices.ContainsFunc(looked, same) && !slices.ContainsFunc(spots, same) {
			spots = append(spots, spot{it.thread, place{Chat: it.chat, Group: !it.direct, LastMS: max(chat.LastMS, dayAgo)}})
		}
	}
	return spots
}

// rank puts the owner's places first, and before groups the chats in which every word is for the bot.
func (p place) rank() (n int) {
	if !p.Owner {
		n += 2
	}
	if p.Group {
		n++
	}
	return n
}

// surveyChat lists a chat from its end: a page, and more of them as far as they are of the last day. Whole is true when
// that has come to the checkpoint, so that news is all that was missed. Begun are the threads below the listed messages
// that the checkpoint does not know: the list has what a thread began with, and nothing that was written in it. So each
// of them is looked at from where the chat was taken to; with nothing new in it, it stays unknown, and the next
// connection looks again.
func (a *Adapter) surveyChat(ctx context.Context, s spot) (news []item, whole bool, begun []spot, err error) {
	now := a.api.now()
	dayAgo := now.Add(-lookBack)
	unsure := max(s.from.unsure(now), dayAgo.UnixMilli())
	from := place{Chat: s.id, Group: s.from.Group, Owner: s.from.Owner, LastMS: max(s.from.LastMS, dayAgo.UnixMilli())}
	query := url.Values{"container_id_type": {"chat"}, "container_id": {s.id}, "sort_type": {"ByCreateTimeDesc"}}
	pages := 0
	more, err := a.list(ctx, query, func() { news, whole, begun, pages = nil, false, nil, 0 }, func(records []record) (enough bool) {
		found, old := s.news(records, s.from, unsure, nil)
		news, whole, pages = append(news, found...), whole || old, pages+1
		for _, r := range records {
			it := r.item(s.id, !s.from.Group)
			_, known := a.known.Threads[it.thread]
			twice := slices.ContainsFunc(begun, func(s spot) bool { return s.id == it.thread })
			if it.thread != "" && !known && !twice && it.check() == nil {
				begun = append(begun, spot{it.thread, from})
			}
			enough = enough || it.sent.Before(dayAgo)
		}
		return enough || pages == lookPages
	})
	slices.Reverse(news)
	return news, whole || !more, begun, err
}

// missed lists what came after the checkpoint, and the places that have more.
func (a *Adapter) missed(ctx context.Context, spots []spot, taken map[string]bool) (items []item, rest []spot, err error) {
	for _, s := range spots {
		found, more, err := a.look(ctx, s, taken)
		if err != nil {
			return nil, nil, err
		}
		if items = append(items, found...); more {
			rest = append(rest, s)
		}
	}
	return items, rest, nil
}

// look reads what is new in one place: of a chat from the checkpoint on, and of a thread, which the platform lists
// from its end only, back to the checkpoint. Of much the oldest is found, so that the rest can follow.
func (a *Adapter) look(ctx context.Context, s spot, taken map[string]bool) (found []item, more bool, err error) {
	p, now := a.place(s), a.api.now()
	thread, unsure := p.Chat != "", p.unsure(now)
	query := url.Values{"container_id_type": {"thread"}, "container_id": {s.id}, "sort_type": {"ByCreateTimeDesc"}}
	if !thread {
		since := max(unsure/1000, now.Add(-lookBack).Unix())
		query = url.Values{
			"container_id_type": {"chat"}, "container_id": {s.id}, "sort_type": {"ByCreateTimeAsc"},
			"start_time": {strconv.FormatInt(since, 10)}, // without an end: our clock may be behind
		}
	}
	var pages [][]item
	dropped := false
	more, err = a.list(ctx, query, func() { pages, dropped = nil, false }, func(records []record) (enough bool) {
		news, old := s.news(records, p, unsure, taken)
		if len(news) > 0 {
			pages = append(pages, news)
		}
		if !thread {
			return len(pages) == lookPages
		}
		if len(pages) > lookPages {
			pages, dropped = pages[1:], true
		}
		return old
	})
	if found = slices.Concat(pages...); thread {
		slices.Reverse(found)
		more = dropped
	}
	return found, more && len(found) > 0, err // without anything new there is no more
}

// news are those of a page that may not have been taken yet. Old is true when the page has come to the checkpoint.
func (s spot) news(records []record, p place, unsure int64, taken map[string]bool) (news []item, old bool) {
	chat, listed := s.id, true
	if p.Chat != "" {
		chat, listed = p.Chat, false
	}
	for _, r := range records {
		it := r.item(chat, !p.Group)
		it.listed = listed
		if it.sent.UnixMilli() < unsure {
			old = true
		} else if it.check() == nil && !taken[it.id] {
			news = append(news, it)
		}
	}
	return news, old
}
