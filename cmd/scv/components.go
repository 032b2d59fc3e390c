package main

import (
	"strconv"

	"scv/wire"
)

// printComponents is the table of channel accounts that status and channels share.
func (a *app) printComponents(components []wire.ComponentHealth) {
	if len(components) == 0 {
		a.say("no chat accounts")
		return
	}
	t := table{}
	t.head("CHANNEL", "STATE", "ANSWERS", "TOOLS", "OWNER", "LAST CONTACT", "RESTARTS", "NOTE")
	for _, h := range components {
		t.row(cell{h.ID, plain}, cell{string(h.State), stateStyle(h.State)}, cell{answers(h), plain},
			cell{string(h.RemoteTools), plain}, cell{orDash(h.UserID), plain},
			cell{a.ago(h.LastSuccessUnixSeconds), plain}, cell{strconv.FormatUint(h.Restarts, 10), plain},
			cell{a.advice(h), plain})
	}
	t.write(a.stdout, a.colour)
}

func stateStyle(s wire.ComponentState) style {
	switch s {
	case wire.Connected:
		return good
	case wire.Failed:
		return bad
	case wire.Disconnected, wire.Backoff:
		return warn
	case wire.Disabled, wire.Stopped, wire.Starting, wire.Stopping:
		return dim
	}
	return plain
}

// answers says whom an account answers; a daemon that does not tell answers anyone.
func answers(h wire.ComponentHealth) string {
	switch {
	case h.Senders == nil || *h.Senders == wire.SendersAnyone:
		return "anyone"
	case h.UserID == nil:
		return "nobody"
	}
	return "owner"
}

// advice is the account's error, or what a person might do about its state.
func (a *app) advice(h wire.ComponentHealth) string {
	switch {
	case h.Error != nil:
		return *h.Error
	case h.State == wire.Disabled:
		return "turn it on: " + a.command("channels enable "+shellWord(h.ID))
	case h.State == wire.Failed:
		return "once mended: " + a.command("reload")
	case answers(h) == "nobody":
		return "its owner is not known, so it answers nobody"
	}
	return ""
}

func orDash(s *string) string {
	if s == nil || *s == "" {
		return "-"
	}
	return *s
}
