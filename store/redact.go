package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"scv/wire"
)

// show makes the value of a row: the record with its secrets hidden, or why it cannot be shown.
func (t *Table) show(key, raw []byte, o DumpOptions) jsontext.Value {
	rec, err := t.read(t, key, raw)
	if err != nil {
		return unreadable(raw, err)
	}
	if len(t.Secret) == 0 {
		return bytes.Clone(raw)
	}
	shown, err := t.redact(rec, raw, o)
	if err != nil {
		return unreadable(raw, err)
	}
	return shown
}

// redact copies a record member by member.
func (t *Table) redact(rec any, raw []byte, o DumpOptions) (jsontext.Value, error) {
	return t.redactObject(jsontext.NewDecoder(bytes.NewReader(raw)), nil, "", func(member string) bool { return openMember(rec, member, o) })
}

// redactObject appends an object, in which secrets are named after within, as they are shown.
func (t *Table) redactObject(dec *jsontext.Decoder, shown []byte, within string, open func(string) bool) ([]byte, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	shown = append(shown, '{')
	for first := true; dec.PeekKind() == '"'; first = false {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		member := within + name.String()
		if !first {
			shown = append(shown, ',')
		}
		if shown, err = jsontext.AppendQuote(shown, name.String()); err != nil {
			return nil, err
		}
		if shown, err = t.redactMember(dec, append(shown, ':'), member, open); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return append(shown, '}'), err
}

func (t *Table) redactMember(dec *jsontext.Decoder, shown []byte, member string, open func(string) bool) ([]byte, error) {
	inside := func(secret string) bool { return strings.HasPrefix(secret, member+"/") }
	if dec.PeekKind() == '[' && slices.ContainsFunc(t.Secret, inside) {
		return t.redactList(dec, shown, member+"/", open)
	}
	value, err := dec.ReadValue()
	if err == nil && slices.Contains(t.Secret, member) && !open(member) {
		value = secretSummary(t, value)
	}
	return append(shown, value...), err
}

// redactList appends a list of objects; the record was read, so it is one.
func (t *Table) redactList(dec *jsontext.Decoder, shown []byte, within string, open func(string) bool) ([]byte, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	shown = append(shown, '[')
	for first := true; dec.PeekKind() == '{'; first = false {
		if !first {
			shown = append(shown, ',')
		}
		var err error
		if shown, err = t.redactObject(dec, shown, within, open); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return append(shown, ']'), err
}

// openMember reports whether a secret member may be shown all the same. Questions are for everybody who
// may see the store; a reply handle lets its holder write to a chat, a cursor perhaps read on in one, where a
// file is perhaps read it: none of them is ever shown.
func openMember(rec any, member string, o DumpOptions) bool {
	if member == "reply_handle" || member == "files/ref" {
		return false
	}
	switch rec := rec.(type) {
	case Cursor:
		return false
	case Outbound:
		return o.Texts || rec.Question != ""
	case ChatLine:
		return o.Texts || rec.Kind == wire.ChatQuestion
	}
	return o.Texts
}

// secretSummary shows the length and the hash of a secret: enough to compare two.
func secretSummary(t *Table, value jsontext.Value) jsontext.Value {
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil { // no string: the record was read, so this does not happen
		text = value
	}
	if t == tableQuarantine {
		if raw, err := base64.StdEncoding.DecodeString(string(text)); err == nil {
			text = raw
		}
	}
	return fmt.Appendf(nil, `{"bytes":%d,"sha256":"%.6x"}`, len(text), sha256.Sum256(text))
}

func unreadable(raw []byte, reason error) jsontext.Value {
	why, err := jsontext.AppendQuote(nil, reason.Error())
	if err != nil { // the reason quotes a name that is no text
		why = []byte(`"it cannot be read"`)
	}
	return fmt.Appendf(nil, `{"unreadable":%s,"bytes":%d,"sha256":"%.6x"}`, why, len(raw), sha256.Sum256(raw))
}
