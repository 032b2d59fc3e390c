package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"

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
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	shown := []byte{'{'}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		member := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if len(shown) > 1 {
			shown = append(shown, ',')
		}
		if shown, err = jsontext.AppendQuote(shown, member); err != nil {
			return nil, err
		}
		shown = append(shown, ':')
		if slices.Contains(t.Secret, member) && !openMember(rec, member, o) {
			value = secretSummary(t, value)
		}
		shown = append(shown, value...)
	}
	return append(shown, '}'), nil
}

// openMember reports whether a secret member may be shown all the same. Questions are for everybody who
// may see the store; a reply handle lets its holder write to a chat, a cursor perhaps read on in one: neither is ever shown.
func openMember(rec any, member string, o DumpOptions) bool {
	if member == "reply_handle" {
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
