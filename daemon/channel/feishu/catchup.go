package feishu

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Bounds of one look at what was missed. What is more comes in the next look, which follows at once.
const (
	lookPlaces = 32  // chats, and as many threads
	lookPages  = 4   // of one place that have anything new
	mostPages  = 100 // of one place, whatever is in them
	pageSize   = 50  // messages
	lookBack   = 24 * time.Hour
	overlap    = time.Minute // before the checkpoint: a message may still be on its way when a later one is taken
)

// catchUp takes what was written while no connection stood, before anything newer: an answer that is
// older than its question must not look newer, and an order once given stays the order.
func (a *Adapter) catchUp(ctx context.Context) error {
	taken := map[string]bool{} // the newest of a place are listed again
	for {
		items, more, err := a.missed(ctx, taken)
		if err != nil || len(items) == 0 {
			return err
		}
		if err := a.take(ctx, items); err != nil || !more {
			return err
		}
		for _, it := range items {
			taken[it.id] = true
		}
	}
}

// missed lists what came after the checkpoint, oldest first, and reports whether there is more. Without
// anything new there is no more.
func (a *Adapter) missed(ctx context.Context, taken map[string]bool) (items []item, more bool, err error) {
	chats, threads := newest(a.known.Chats), newest(a.known.Threads)
	for _, id := range chats[:min(len(chats), lookPlaces)] {
		p := a.known.Chats[id]
		since := max(p.unsure(a.api.now())/1000, a.api.now().Add(-lookBack).Unix())
		query := url.Values{
			"container_id_type": {"chat"}, "container_id": {id}, "sort_type": {"ByCreateTimeAsc"},
			"start_time": {strconv.FormatInt(since, 10)}, // without an end: our clock may be behind
		}
		found, rest, err := a.look(ctx, query, id, p, taken)
		if err != nil {
			return nil, false, err
		}
		items, more = append(items, found...), more || rest
	}
	for _, id := range threads[:min(len(threads), lookPlaces)] {
		p := a.known.Threads[id]
		query := url.Values{"container_id_type": {"thread"}, "container_id": {id}, "sort_type": {"ByCreateTimeDesc"}}
		found, _, err := a.look(ctx, query, p.Chat, p, taken)
		if err != nil {
			return nil, false, err
		}
		items = append(items, found...)
	}
	slices.SortStableFunc(items, func(a, b item) int { return a.sent.Compare(b.sent) })
	return items, more, nil
}

type listAnswer struct {
	Data struct {
		Items   []record `json:"items"`
		HasMore bool     `json:"has_more"`
		Next    string   `json:"page_token"`
	} `json:"data"`
}

// look reads the pages of one place. A place that the platform refuses to show is left out: the bot may
// have been sent away from it.
func (a *Adapter) look(ctx context.Context, query url.Values, chat string, p place, taken map[string]bool) (found []item, more bool, err error) {
	size, unsure := pageSize, p.unsure(a.api.now())
	for pages, all := 0, 0; pages < lookPages && all < mostPages; all++ {
		query.Set("page_size", strconv.Itoa(size))
		got, err := get[listAnswer](ctx, a.api, "/open-apis/im/v1/messages", query)
		if errors.Is(err, errTooLarge) && size > 1 { // no answer of any size may end the account for good
			size, found, pages = max(size/5, 1), nil, 0
			query.Del("page_token")
			continue
		}
		if errors.Is(err, errTooLarge) {
			a.o.Log.Warn("what was missed in a chat cannot be read: one message of it is too large", "account", a.o.Account.ID())
			return found, false, nil
		}
		if refusal, ok := errors.AsType[*answer](err); ok && (refusal.fate == refused || refusal.code == noScope) {
			a.o.Log.Warn("what was missed in a chat cannot be read", "account", a.o.Account.ID(), "code", refusal.code)
			return found, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		old, before := false, len(found)
		for _, r := range got.Data.Items {
			it := r.item(chat, !p.Group)
			it.listed = p.Chat == "" // p is a chat and no thread
			old = old || it.sent.UnixMilli() < unsure
			if it.sent.UnixMilli() >= unsure && it.check() == nil && !taken[it.id] {
				found = append(found, it)
			}
		}
		if len(found) > before {
			pages++
		}
		backwards := query.Get("sort_type") == "ByCreateTimeDesc"
		if !got.Data.HasMore || got.Data.Next == "" || got.Data.Next == query.Get("page_token") || backwards && old {
			return found, false, nil
		}
		query.Set("page_token", got.Data.Next)
	}
	return found, true, nil
}
