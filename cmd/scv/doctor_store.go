package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// lookAtStore checks the store as `scv store check` does, in a process of its own.
func (p *patient) lookAtStore() []finding {
	if _, err := os.Stat(p.a.storePath()); errors.Is(err, fs.ErrNotExist) && p.pid == 0 {
		return []finding{{"store", fine, "none yet", ""}}
	}
	var out strings.Builder
	check := *p.a
	check.stdout, check.stderr, check.watched, check.colour = &out, io.Discard, false, false
	err := (&storeCheck{}).Run(&check)
	switch {
	case err == nil:
		return []finding{{"store", fine, strings.TrimSpace(out.String()), ""}}
	case exitCode(err) == exitDamaged:
		return []finding{{"store", broke, err.Error(), hintOf(err)}}
	}
	return []finding{{"store", shaky, err.Error(), hintOf(err)}}
}
