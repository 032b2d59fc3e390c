package delegation

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"scv/daemon/process"
	"scv/store"
	"scv/wire"
)

// This file is where a run stands among the others: below whom, how deep, and with whose powers.

// handles is the form of a handle: the agent's name and six hex digits. It becomes part of tags and of paths.
var handles = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}-[0-9a-f]{6}$`)
})

// IsHandle reports whether handle names a run of agent.
func IsHandle(handle, agent string) bool {
	return handles().MatchString(handle) && strings.HasPrefix(handle, agent+"-") && len(handle) == len(agent)+7
}

// Place fills in where a run stands that asker, a handle, starts; "" is the owner, or the daemon for a chat.
// Tools are never more than the asker's own.
func (k *Keeper) Place(about store.Delegation, asker string) (store.Delegation, error) {
	if asker == "" {
		about.Parent, about.Depth, about.Tools = k.o.Parent, k.o.Depth+1, true
	} else {
		outer, known, err := k.Record(asker)
		if err != nil {
			return about, err
		}
		if !known {
			return about, wire.Refuse(wire.DelegationError, "the run %q that asks is not on record any more", asker)
		}
		about.Parent, about.Depth, about.Tools = k.tag(asker, outer), outer.Depth+1, outer.Tools
	}
	return about, k.checkDepth(about)
}

func (k *Keeper) checkDepth(about store.Delegation) error {
	if about.Depth > k.o.MaxDepth {
		return wire.Refuse(wire.DelegationError, "delegations may nest %d deep and this would be level %d; "+
			"max_depth in [delegations] of config.toml sets it", k.o.MaxDepth, about.Depth)
	}
	return nil
}

// tag is SCV_PARENT of a run's processes: the runs around it and itself, outermost first. A run ends with all
// that carries its tag, so a background run, which outlives the run that asked for it, does not.
func (k *Keeper) tag(handle string, d store.Delegation) string {
	own, around := k.o.Instance+"/"+d.Session+"/"+handle, d.Parent
	if d.Background {
		around = k.o.Parent
	}
	if around == "" {
		return own
	}
	return around + ";" + own
}

// Environment is what every process of the run must carry: the tag it is known by, its depth, and
// where its daemon is.
func (k *Keeper) Environment(handle string, d store.Delegation) map[string]string {
	return map[string]string{
		"SCV_PARENT": k.tag(handle, d), "SCV_DELEGATION_DEPTH": fmt.Sprint(d.Depth), "SCV_HOME": filepath.Clean(k.o.Home),
	}
}

// Below reports whether something with this parent tag was started from inside a run, at whatever depth.
func (k *Keeper) Below(parent, run string) bool {
	return run != "" && slices.Contains(process.HandlesIn(parent, k.o.Instance), run)
}
