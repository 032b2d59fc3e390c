package store

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"scv/wire"
)

// Open questions lie in a bucket of their own, so that none of the many ended ones is read to find them.

// Confirm reads one question, open or ended.
func (v *View) Confirm(id string) (Confirm, bool) {
	if c, ok := get[Confirm](v.t, tableConfirms, []byte(id)); ok {
		return c, true
	}
	return get[Confirm](v.t, tableConfirmsEnded, []byte(id))
}

// OpenConfirms lists the questions that wait for an answer, oldest first.
func (v *View) OpenConfirms() []Confirm { return oldestFirst(v.confirms(tableConfirms)) }

// Confirms lists all questions on record, oldest first.
func (v *View) Confirms() []Confirm {
	return oldestFirst(append(v.confirms(tableConfirms), v.confirms(tableConfirmsEnded)...))
}

func (v *View) confirms(table *Table) (list []Confirm) {
	for _, rec := range ascend[Confirm](v.t, table, nil) {
		list = append(list, rec)
	}
	return list
}

func oldestFirst(list []Confirm) []Confirm {
	slices.SortFunc(list, func(a, b Confirm) int {
		return cmp.Or(a.Asked.Wall.Compare(b.Asked.Wall), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// CodeInUse reports whether a question on record, open or ended, has the code in the chat.
func (v *View) CodeInUse(account, chat, code string) bool {
	needle, err := jsontext.AppendQuote([]byte(`"code":`), code)
	if err != nil {
		return false // what is no text was never stored
	}
	for _, table := range []*Table{tableConfirms, tableConfirmsEnded} {
		for key, raw := range descendRaw(v.t, table, nil) {
			if !bytes.Contains(raw, needle) { // far cheaper than to decode 100,000 ended ones
				continue
			}
			c, ok := judged[Confirm](v.t, table, key, raw)
			if ok && c.Code == code && c.Account == account && c.Chat == chat {
				return true
			}
		}
	}
	return false
}

// PutConfirm stores a question. A final state is kept for good: an attempt to change it is an error.
func (s *Shared) PutConfirm(c Confirm) error {
	key := []byte(c.ID)
	if old, ok := get[Confirm](s.t, tableConfirmsEnded, key); ok && old.State != c.State {
		return fmt.Errorf("cannot change question %q: it ended as %q", c.ID, old.State)
	}
	if c.State == wire.Pending {
		return put(s.t, tableConfirms, key, c)
	}
	if err := put(s.t, tableConfirmsEnded, key, c); err != nil {
		return err
	}
	return s.t.remove(tableConfirms, key)
}
