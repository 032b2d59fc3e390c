package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"scv/store"
)

// lookAtStore checks the store as `scv store check` does, in a process of its own.
func (p *patient) lookAtStore() []finding {
	if _, err := os.Stat(p.a.storePath()); errors.Is(err, fs.ErrNotExist) && p.pid == 0 {
		return []finding{p.missingStore()}
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
	hint := hintOf(err)
	switch {
	case errors.Is(err, fs.ErrPermission):
		hint = "if it is yours: chmod u=rw " + shellWord(p.a.storePath())
	case hint == p.a.seeDoctor(): // we are the doctor
		hint = "keep it, and put a copy back: " + p.a.command("store restore")
	}
	return []finding{{"store", shaky, err.Error(), hint}}
}

// missingStore tells a first start from a store that was lost.
func (p *patient) missingStore() finding {
	sign, err := store.EarlierLife(p.a.storePath())
	switch {
	case err != nil:
		return finding{"store", broke, "there is none, and whether there was one cannot be told: " + err.Error(), ""}
	case sign != "":
		return finding{
			"store", broke, "it is gone; " + sign + " shows that there was one",
			"bring it back: " + p.a.command("store restore") + "; to begin anew: " + p.a.command("run --fresh"),
		}
	}
	return finding{"store", fine, "none yet", ""}
}
