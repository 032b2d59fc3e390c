package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// recordVersion is the "v" of every record of the present schema. A record that carries another one
// was written by a program this one does not understand; a migration raises it.
const recordVersion = 1

// envelope is how a record lies in the file: its version first, then its own members.
type envelope[T any] struct {
	V   int `json:"v"`
	Rec T   `json:",embed"`
}

// codecOptions hold for both directions. Durations are whole nanoseconds.
var codecOptions = json.JoinOptions(
	jsonv1.FormatDurationAsNano(true),
	json.Deterministic(true), // a record is the same bytes whenever it is the same value
)

// encode makes the bytes of a record.
func encode[T any](rec T) ([]byte, error) {
	return json.Marshal(envelope[T]{V: recordVersion, Rec: rec}, codecOptions)
}

// decode reads a record. It is strict: a missing member, null, a wrong type, a duplicate or trailing
// data are errors, and so is another version. Members it does not know are ignored. Its errors name
// places and never quote what stands there.
func decode[T any](raw []byte) (rec T, err error) {
	if err := checkRecord(raw, shapeOf[T]()); err != nil {
		return rec, err
	}
	var e envelope[T]
	if err := json.Unmarshal(raw, &e, codecOptions); err != nil {
		var bad *json.SemanticError
		if errors.As(err, &bad) {
			return rec, fmt.Errorf("its member %q has a wrong value", string(bad.JSONPointer))
		}
		return rec, errNotJSON
	}
	return e.Rec, nil
}

var (
	errEmpty     = errors.New("it is empty")
	errNotJSON   = errors.New("it is not one JSON object")
	errNoVersion = errors.New("it does not begin with its version")
)

// checkRecord walks the raw bytes once: the version first, then every member that the record always
// has, null nowhere but in a member of type any, and nothing after it.
func checkRecord(raw []byte, s *shape) error {
	if len(raw) == 0 {
		return errEmpty
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return errNotJSON
	}
	if err := checkVersion(dec); err != nil {
		return err
	}
	if err := checkMembers(dec, s, ""); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return errNotJSON
	}
	return nil
}

func checkVersion(dec *jsontext.Decoder) error {
	name, err := dec.ReadToken()
	if err != nil || name.Kind() != '"' || name.String() != "v" {
		return errNoVersion
	}
	value, err := dec.ReadValue()
	if err != nil || value.Kind() != '0' {
		return errNoVersion
	}
	if string(value) != strconv.Itoa(recordVersion) {
		return fmt.Errorf("it has version %.20s and this scv reads version %d", value, recordVersion)
	}
	return nil
}
