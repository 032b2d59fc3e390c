package notify

import (
	"strings"

	"scv/wire"
)

// Limits of a chain. Real ones have at most the depth limit of delegations, which is 2 by default.
const (
	MaxChain    = 64 << 10 // bytes
	MaxElements = 64
)

// Element is one component of SCV_PARENT: a run, and the session that started it.
type Element struct {
	Instance string
	Session  string
	Handle   string
}

// Parse reads a chain <instance>/<session>/<handle>;…, outermost first. "" is no chain. It is only
// what the caller says of itself: Origin checks it. A refusal is a *wire.Error.
func Parse(parent string) ([]Element, error) {
	if parent == "" {
		return nil, nil
	}
	if len(parent) > MaxChain || strings.Count(parent, ";") >= MaxElements {
		return nil, wire.Refuse(wire.InvalidRequest, "parent is longer than %d runs or %d bytes", MaxElements, MaxChain)
	}
	var chain []Element
	for component := range strings.SplitSeq(parent, ";") {
		parts := strings.Split(component, "/")
		if len(parts) != 3 || parts[0] == "" || parts[2] == "" {
			return nil, wire.Refuse(wire.InvalidRequest, "parent is not of the form <instance>/<session>/<handle>;…: pass SCV_PARENT unchanged")
		}
		chain = append(chain, Element{Instance: parts[0], Session: parts[1], Handle: parts[2]})
	}
	return chain, nil
}

// Origin is the outermost run of this instance that the chain names and belongs agrees to. belongs
// must say yes only to a live run that the caller was proven to be in (the handles of its
// caller.Verdict) and whose recorded session is this one: so a forged chain names nobody.
func Origin(chain []Element, instance string, belongs func(handle, session string) bool) (Element, bool) {
	for _, e := range chain {
		if e.Instance == instance && belongs(e.Handle, e.Session) {
			return e, true
		}
	}
	return Element{}, false
}
