package feishu

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Bounds of one look at what was missed. What is more comes in the next look, which follows at once.
const (
	lookPlaces = 32 // chats, as many threads that are known, and as many that are not
	lookPages  = 4  // of one place that have anything new; no more of it are in memory at any time
	lookBack   = 24 * time.Hour
	overlap    = time.Minute // before the checkpoint: a message may still be on its way when a later one is taken
)

// catchUp takes what was written while no connection stood, before anything newer: an answer that is
// older than its question must not look newer, and an order once given stays the order.
func (a *Adapter) catchUp(ctx context.Context) error {
	taken := map[string]bool{} // the newest of a place are listed again
	spots, err := a.spots(ctx)
	for err == nil && len(spots) > 0 {
		var items []item
		items, spots, err = a.missed(ctx, spots, taken)
		if err != nil || len(items) == 0 {
			return err
		}
		err = a.take(ctx, items)
		for _, it := range items {
			taken[it.id] = true
		}
	}
	return err
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

// spots are the places that are looked at after a connection has come: the known ones, and threads that may have
// been begun meanwhile.
func (a *Adapter) spots(ctx context.Context) (spots []spot, err error) {
	chats, threads := newest(a.known.Chats), newest(a.known.Threads)
	var begun []spot
	for _, id := range chats[:min(len(chats), lookPlaces)] {
		s := spot{id, a.known.Chats[id]}
		found, err := a.unknownThreads(ctx, s)
		if err != nil {
			return nil, err
		}
		spots, begun = append(spots, s), append(begun, found...)
	}
	for _, id := range threads[:min(len(threads), lookPlaces)] {
		spots = append(spots, spot{id, a.known.Threads[id]})
	}
	slices.SortStableFunc(begun, func(a, b spot) int { return a.from.rank() - b.from.rank() })
	return append(spots, begun[:min(len(begun), lookPlaces)]...), nil
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

// unknownThreads finds the threads below a chat's messages of the last day that the checkpoint does not know. A
// chat's list has what a thread began with, which may be older than the checkpoint, and nothing that was written
// in it. So each of them is looked at from where the chat was taken to; with nothing new in it, it stays unknown,
// and the next connection looks again. Where nothing new was written this costs one request for each chat, and one
// for every 50 messages of the day that are more.
func (a *Adapter) unknownThreads(ctx context.Context, s spot) (found []spot, err error) {
	dayAgo := a.api.now().Add(-lookBack)
	from := place{Chat: s.id, Group: s.from.Group, Owner: s.from.Owner, LastMS: max(s.from.LastMS, dayAgo.UnixMilli())}
	query := url.Values{
		"container_id_type": {"chat"}, "container_id": {s.id}, "sort_type": {"ByCreateTimeDesc"},
		"start_time": {strconv.FormatInt(dayAgo.Unix(), 10)},
	}
	pages := 0
	_, err = a.list(ctx, query, func() { found, pages = nil, 0 }, func(records []record) (enough bool) {
		for _, r := range records {
			it := r.item(s.id, !s.from.Group)
			_, known := a.known.Threads[it.thread]
			twice := slices.ContainsFunc(found, func(s spot) bool { return s.id == it.thread })
			if it.thread != "" && !known && !twice && it.check() == nil {
				found = append(found, spot{it.thread, from})
			}
		}
		pages++
		return pages == lookPages
	})
	return found, err
}

// missed lists what came after the checkpoint, oldest first, and the places that have more.
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
	slices.SortStableFunc(items, func(a, b item) int { return a.sent.Compare(b.sent) })
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
