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

// ConfirmWaits reports whether a question on record waits for an answer. It reads no record: whoever looks
// at a thousand of them for the few that have ended would spend most of its time on the others.
func (v *View) ConfirmWaits(id string) bool {
	return v.t.bucket(tableConfirms).Get([]byte(id)) != nil
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
func (v *View) CodeInUse(account, chat, code string) bool { return v.CodesInUse(account, chat)[code] }

// CodesInUse are the codes of all questions on record of a chat, open or ended, from one look at them.
// It reads the records as text: to decode 100,000 ended ones inside a write would hold everybody up. A
// question that only looks as if it were of this chat costs its code, no more.
func (v *View) CodesInUse(account, chat string) map[string]bool {
	codes := map[string]bool{}
	ofAccount, err := jsontext.AppendQuote([]byte(`"account":`), account)
	ofChat, err2 := jsontext.AppendQuote([]byte(`"chat":`), chat)
	if err != nil || err2 != nil {
		return codes // what is no text was never stored
	}
	for _, table := range []*Table{tableConfirms, tableConfirmsEnded} {
		for _, raw := range descendRaw(v.t, table, nil) {
			if !bytes.Contains(raw, ofAccount) || !bytes.Contains(raw, ofChat) {
				continue
			}
			if _, rest, there := bytes.Cut(raw, []byte(`"code":"`)); there {
				code, _, _ := bytes.Cut(rest, []byte(`"`))
				codes[string(code)] = true
			}
		}
	}
	return codes
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
