package feishu

import (
	"context"
	"errors"
	"net/url"
	"strconv"
)

const (
	pageSize  = 50  // messages
	mostPages = 100 // of one list, whatever is in them
)

type listAnswer struct {
	Data struct {
		Items   []record `json:"items"`
		HasMore bool     `json:"has_more"`
		Next    string   `json:"page_token"`
	} `json:"data"`
}

// list reads the messages of a place page by page, until page has enough, and reports whether there is more. Where
// an answer is too large it begins anew, after a word to anew, with smaller pages. A place that the platform
// refuses to show is left out: the bot may have been sent away from it.
func (a *Adapter) list(ctx context.Context, query url.Values, anew func(), page func([]record) (enough bool)) (more bool, err error) {
	size := pageSize
	for range mostPages {
		query.Set("page_size", strconv.Itoa(size))
		got, err := get[listAnswer](ctx, a.api, "/open-apis/im/v1/messages", query)
		if errors.Is(err, errTooLarge) && size > 1 { // no answer of any size may end the account for good
			size = max(size/5, 1)
			query.Del("page_token")
			anew()
			continue
		}
		if errors.Is(err, errTooLarge) {
			a.o.Log.Warn("what was missed in a chat cannot be read: one message of it is too large", "account", a.o.Account.ID())
			return false, nil
		}
		if refusal, ok := errors.AsType[*answer](err); ok && (refusal.fate == refused || refusal.code == noScope) {
			a.o.Log.Warn("what was missed in a chat cannot be read", "account", a.o.Account.ID(), "code", refusal.code)
			return false, nil
		}
		if err != nil {
			return false, err
		}
		enough, next := page(got.Data.Items), got.Data.Next
		if more = got.Data.HasMore && next != "" && next != query.Get("page_token"); enough || !more {
			return more, nil
		}
		query.Set("page_token", next)
	}
	a.o.Log.Warn("a chat's list has more pages than are read at once", "account", a.o.Account.ID(), "pages", mostPages)
	return true, nil
}
