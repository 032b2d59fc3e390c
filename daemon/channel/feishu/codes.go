package feishu

import (
	"errors"
	"fmt"
	"net/http"

	"scv/daemon/channel"
)

// fate is what an answer of the platform means for whoever asked.
type fate int

const (
	again   fate = iota // the same request may work later
	refused             // it never will
	owner               // it will once the account's owner has done something
)

// meaning is a row of the table of codes.
type meaning struct {
	fate  fate
	token bool   // the tenant token is no good any more
	says  string // what the owner is to do, or what happened
}

const addScopes = "the app lacks a permission: add im:message and im:resource in its console, publish a version, then scv reload"

// codes is THE table: every code of the API that means something of its own. Any other is refused.
var codes = map[int]meaning{
	99991661: {again, true, "the token was not taken"},
	99991663: {again, true, "the token was not taken"},
	99991664: {again, true, "the token was not taken"},
	99991668: {again, true, "the token was not taken"},

	99991400: {again, false, "too many requests"},
	230020:   {again, false, "too many requests"},
	11232:    {again, false, "too many requests"},
	11233:    {again, false, "too many requests"},

	10003:    {owner, false, badSecret},
	10014:    {owner, false, badSecret},
	99991662: {owner, false, "the app is switched off: switch it on in its console, then scv reload"},
	noScope:  {owner, false, addScopes},
	230006:   {owner, false, "the app has no bot: add the bot ability in its console, publish a version, then scv reload"},

	230001: {refused, false, "the platform finds fault with the message"},
	230002: {refused, false, "the bot is not in that chat"},
	230013: {refused, false, "the app is not visible to that person"},
	230071: {refused, false, "that thread cannot be replied to"},
	230072: {refused, false, "that thread cannot be replied to"},
}

const noScope = 99991672

const badSecret = "the app's id or secret is no longer valid: sign in again with scv channels login, and --app-id for the same app"

// endpointCodes are those of the call that says where the long connection leads. They are no API codes.
var endpointCodes = map[int]meaning{
	1:          {again, false, "the platform is busy"},
	403:        {owner, false, "the platform forbids this app the long connection: allow it in the app's console, then scv reload"},
	514:        {owner, false, badSecret},
	1000040343: {again, false, "the platform has an error of its own"},
	1000040350: {again, false, "too many programs are connected as this app: end the others"},
}

// A thread's own refusals: the same message may go into the chat around it.
var noThread = map[int]bool{230071: true, 230072: true}

// answer is what the platform answered where that was no success. It shows the code and never the
// platform's words, which may quote ours.
type answer struct {
	status int // of HTTP
	code   int // of the platform, 0 for none
	meaning
}

func (a *answer) Error() string {
	text := fmt.Sprintf("HTTP %d", a.status)
	if a.code != 0 {
		text = fmt.Sprintf("code %d", a.code)
	}
	if a.says != "" {
		text += " (" + a.says + ")"
	}
	return "the platform answered " + text
}

// judge makes the error of an answer; nil for success. The first rule that fits counts.
func judge(table map[int]meaning, status, code int, coded bool) error {
	row, listed := table[code]
	switch {
	case coded && code == 0 && status < 300:
		return nil
	case coded && listed:
	case passingStatus(status):
		row = meaning{fate: again}
	case coded && code != 0, status >= 400:
		row = meaning{fate: refused}
	default:
		row = meaning{fate: again}
	}
	return &answer{status, code, row}
}

// passingStatus reports whether a status alone says that the same request may work later.
func passingStatus(status int) bool {
	return status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}

// permanent makes of an error that needs the owner one that ends the account until they did it.
func permanent(err error) error {
	if a, ok := errors.AsType[*answer](err); ok && a.fate == owner {
		return channel.Permanent(fmt.Sprintf("%s (code %d)", a.says, a.code))
	}
	return err
}
