package feishu

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"scv/daemon/channel"
	"scv/internal/clock"
)

const (
	pageSize  = 50  // messages
	mostPages = 100 // of one list, whatever is in them
	pageTries = 3   // of one page, with a pause of one and then of two units between them
)

type listAnswer struct {
	Data struct {
		Items   []jsontext.Value `json:"items"`
		HasMore bool             `json:"has_more"`
		Next    string           `json:"page_token"`
	} `json:"data"`
}

// list reads the messages of a place page by page, until page has enough, and reports whether there is more. Where
// an answer is too large it begins anew, after a word to anew, with smaller pages. A place that the platform
// refuses to show is left out: the bot may have been sent away from it.
func (a *Adapter) list(ctx context.Context, query url.Values, anew func(), page func([]record) (enough bool)) (more bool, err error) {
	size := pageSize
	for range mostPages {
		query.Set("page_size", strconv.Itoa(size))
		got, err := a.listed(ctx, query)
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
		enough, next := page(a.readable(got.Data.Items)), got.Data.Next
		if more = got.Data.HasMore && next != "" && next != query.Get("page_token"); enough || !more {
			return more, nil
		}
		query.Set("page_token", next)
	}
	a.o.Log.Warn("a chat's list has more pages than are read at once", "account", a.o.Account.ID(), "pages", mostPages)
	return true, nil
}

// listed asks for a page, and again where that may help: with many places to look at, one request of all that fails
// would else begin them all anew, and too many requests at once would be too many each time.
func (a *Adapter) listed(ctx context.Context, query url.Values) (got listAnswer, err error) {
	for try := 1; ; try++ {
		got, err = get[listAnswer](ctx, a.api, "/open-apis/im/v1/messages", query)
		refusal, answered := errors.AsType[*answer](err)
		passes := err != nil && !errors.Is(err, errTooLarge) && (!answered || refusal.fate == again)
		if !passes || try == pageTries || ctx.Err() != nil {
			return got, err
		}
		a.doubt(err)
		clock.Pause(ctx, time.Duration(try)*a.unit)
	}
}

// readable are the records that can be read and have a time. One that is odd must not hide the others for as long as
// the list has it.
func (a *Adapter) readable(raw []jsontext.Value) (records []record) {
	for _, one := range raw {
		var r record
		if err := channel.ReadJSON(one, &r); err != nil || channel.Millis(r.Created).IsZero() {
			a.o.Log.Warn("a message in a chat's list cannot be read", "account", a.o.Account.ID())
			continue
		}
		records = append(records, r)
	}
	return records
}
