package wechat

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

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
	fate fate
	says string // what happened
}

// codes is THE table: every code, in ret or in errcode, that means something of its own. Any other is refused.
// The platform publishes none.
var codes = map[int]meaning{
	-14: {owner, "the sign-in is no longer valid"},
	-2:  {refused, "it does not take the message"},
}

// statuses are those of HTTP below 500 that do not mean that the request is at fault.
var statuses = map[int]bool{
	http.StatusUnauthorized: true, http.StatusRequestTimeout: true, http.StatusTooManyRequests: true,
}

// answer is what the platform answered where that was no success: without its words, which may quote ours.
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

// unread is an answer that makes no sense.
func unread(status int) error {
	return &answer{status: status, meaning: meaning{says: "something that cannot be read"}}
}

// head is how the platform says no.
type head struct {
	Ret  jsontext.Value `json:"ret"`
	Code jsontext.Value `json:"errcode"`
}

// no is the code by which a body says no; coded tells of one that is no number, too. Neither a body that says
// nothing nor one that is no JSON does: the live platform takes messages with an empty answer.
func (h head) no() (code int, coded bool) {
	for _, raw := range []jsontext.Value{h.Ret, h.Code} {
		switch text := string(raw); text {
		case "", "null", "0":
		default:
			n, _ := strconv.Atoi(text)
			if coded = true; code == 0 || codes[n].fate == owner {
				code = n
			}
		}
	}
	return code, coded
}

// check makes the error of an answer without a table: that of a sign-in.
func (h head) check() error {
	code, coded := h.no()
	switch {
	case !coded:
		return nil
	case code != 0:
		return fmt.Errorf("code %d", code)
	}
	return errors.New("a code that is no number")
}

// judge makes the error of an answer; nil for success. The first rule that fits counts.
func judge(status int, body []byte) error {
	var h head
	var code int
	var coded bool
	if channel.ReadJSON(body, &h) == nil {
		code, coded = h.no()
	}
	row, listed := codes[code]
	success := status >= 200 && status < 300
	switch {
	case coded && row.fate == owner && listed:
	case success && !coded:
		return nil
	case success && !listed:
		row = meaning{fate: refused}
	case success:
	case status >= 400 && status < 500 && !statuses[status]:
		row = meaning{refused, row.says}
	default:
		row = meaning{fate: again}
	}
	return &answer{status, code, row}
}

// permanent makes of an error that needs the owner one that ends the account until they did it.
func permanent(account channel.Account, err error) error {
	if a, ok := errors.AsType[*answer](err); ok && a.fate == owner {
		return channel.Permanent(fmt.Sprintf("%s: sign in again with %s (code %d)", a.says, account.SignInCommand(), a.code))
	}
	return err
}

// words are what a person reads of a failure that is tried again.
func words(err error) error {
	if u, ok := errors.AsType[*unreachable](err); ok {
		if u.idle {
			return errors.New("WeChat does not answer; it is tried again by itself")
		}
		return errors.New("WeChat cannot be reached; it is tried again by itself")
	}
	if a, ok := errors.AsType[*answer](err); ok {
		return fmt.Errorf("WeChat: %w; it is tried again by itself", a)
	}
	return errors.New("something failed with WeChat; the log says what; it is tried again by itself")
}
