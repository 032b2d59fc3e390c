package store

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// repeatWindow is how many of the newest lines are searched for a part that was added already: a part
// is sent again only right after a crash or an error.
const repeatWindow = 200

// ChatLineRow is a line with its sequence.
type ChatLineRow struct {
	Seq uint64
	ChatLine
}

// ChatLines lists the lines of an account after a sequence, in order: the newest max of them.
func (v *View) ChatLines(account string, after uint64, max int) (rows []ChatLineRow) {
	for key, raw := range descendRaw(v.t, tableChat, accountPrefix(account)) {
		if len(rows) >= max || tableChat.form.check(key) && seqOf(key) <= after {
			break
		}
		if rec, ok := judged[ChatLine](v.t, tableChat, key, raw); ok {
			rows = append(rows, ChatLineRow{seqOf(key), rec})
		}
	}
	slices.Reverse(rows)
	return rows
}

// NewestChatSeq is a sequence that no line of the account exceeds and every later one will.
func (v *View) NewestChatSeq(account string) uint64 {
	for key := range descendRaw(v.t, tableChat, accountPrefix(account)) {
		if tableChat.form.check(key) {
			return seqOf(key)
		}
	}
	return v.t.bucket(tableChat).Sequence()
}

// FindChatMessage finds the line of an owner's message among those that are kept.
func (v *View) FindChatMessage(account, messageID string) (seq uint64, ok bool) {
	return v.findLine(account, messageID, keepChatLines, func(l ChatLine) string { return l.MessageID })
}

// findLine searches the newest lines for one with a value, which is not "". Only lines whose bytes hold
// the value are decoded.
func (v *View) findLine(account, value string, lines int, field func(ChatLine) string) (seq uint64, ok bool) {
	quoted, err := jsontext.AppendQuote(nil, value)
	if value == "" || err != nil { // what is no text was never stored
		return 0, false
	}
	for key, raw := range descendRaw(v.t, tableChat, accountPrefix(account)) {
		if lines--; lines < 0 {
			break
		}
		if !bytes.Contains(raw, quoted) {
			continue
		}
		if rec, ok := judged[ChatLine](v.t, tableChat, key, raw); ok && field(rec) == value {
			return seqOf(key), true
		}
	}
	return 0, false
}

// AddChatLine adds a line and returns its sequence. A line whose ClientID is already among the newest
// is not added again: that one's sequence is returned.
func (d *Delivery) AddChatLine(account string, l ChatLine) (seq uint64, added bool, err error) {
	seq, found := d.findLine(account, l.ClientID, repeatWindow, func(l ChatLine) string { return l.ClientID })
	if found {
		return seq, false, nil
	}
	seq, err = appendSeq(d.t, tableChat, account, l)
	return seq, err == nil, err
}
