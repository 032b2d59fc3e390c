package wire

import (
	"fmt"
	"strings"
)

// Code says what kind of refusal an Error is.
type Code string

const (
	InvalidJSON     Code = "invalid_json"     // not a valid message of this subject
	InvalidRequest  Code = "invalid_request"  // valid JSON, impossible values, or too large
	ComponentError  Code = "component_error"  // unknown account, bad name, bad workspace
	DelegationError Code = "delegation_error" // unknown handle, survivors
	RestartError    Code = "restart_error"    // restart refused
	ConfirmError    Code = "confirm_error"    // question refused, unknown or forgotten id
	Forbidden       Code = "forbidden"        // the caller is inside a delegated run
	Unavailable     Code = "unavailable"      // the store cannot be written
)

// Error is a refusal: a code and one sentence a person can act on. It never carries a secret
// or an internal cause.
type Error struct {
	Code Code
	Text string
}

func (e *Error) Error() string { return e.Text }

// Refuse makes a refusal. Where it quotes a word without end, its middle is left out.
func Refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Text: shortened(fmt.Sprintf(format, args...))}
}

// shortened keeps both ends of a text: a hint stands at the end of a sentence.
func shortened(text string) string {
	const mark, tail = " … ", MaxRefusal / 3
	if len(text) <= MaxRefusal {
		return text
	}
	head := MaxRefusal - tail - len(mark)
	return strings.ToValidUTF8(text[:head], "") + mark + strings.ToValidUTF8(text[len(text)-tail:], "")
}
