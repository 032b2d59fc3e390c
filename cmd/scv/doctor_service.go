package main

import (
	"fmt"
	"strings"

	"scv/daemon/service"
)

// lookAtService looks at what keeps the daemon running.
func (p *patient) lookAtService() []finding {
	k, err := p.a.keeper()
	if err != nil {
		return nil // no home folder of the user: told where it matters
	}
	standing, differs, err := service.Installed(k, k.wanted)
	switch {
	case err != nil:
		return []finding{{"service", shaky, err.Error(), "make it readable, or remove it"}}
	case standing == service.Absent:
		todo := ""
		if p.canKeep() {
			todo = "to have it kept running: " + p.a.command("start")
		}
		return []finding{{"service", fine, "the daemon is not managed by " + k.Name(), todo}}
	}
	found := []finding{p.lookAtUnit(k)}
	switch {
	case len(differs) > 0 && standing == service.Edited:
		found = append(found, finding{
			"service", shaky, k.File() + " was edited, and differs in " + strings.Join(differs, " and ") + " from this shell",
			"change it there, or lose the edits: " + p.a.command("start --force"),
		})
	case standing == service.Stale:
		what := "in " + strings.Join(differs, " and ") + " from this shell"
		if len(differs) == 0 {
			what = "from what this scv would write"
		}
		found = append(found, finding{"service", shaky, k.File() + " differs " + what, "bring it up to date: " + p.a.command("start")})
	}
	return append(found, p.lookAtLinger(k)...)
}

// lookAtUnit compares what the manager keeps with the daemon that answers.
func (p *patient) lookAtUnit(k *keeper) finding {
	see, _ := k.Advice()
	st, err := k.State(p.a.ctx)
	switch {
	case err != nil:
		return finding{"service", shaky, fmt.Sprintf("%s is installed, and %s cannot be asked about it: %v", k.Unit(), k.Name(), err), "log in as this user on the machine itself, or look at: " + see}
	case st.PID != 0 && st.PID == int(p.pid):
		return finding{"service", fine, fmt.Sprintf("%s keeps the daemon running, as %s", k.Name(), k.Unit()), ""}
	case st.Active && p.pid == 0:
		return finding{"service", broke, fmt.Sprintf("%s is %s and no daemon answers", k.Unit(), st.Words), "see " + p.a.command("logs") + " and " + see}
	case p.pid != 0:
		return finding{
			"service", shaky, fmt.Sprintf("%s is installed, and the daemon (pid %d) is not the one that %s keeps", k.Unit(), p.pid, k.Name()),
			p.a.command("stop") + ", then " + p.a.command("start"),
		}
	}
	return finding{"service", shaky, fmt.Sprintf("%s is installed and stopped: %s", k.Unit(), st.Words), "start it: " + p.a.command("start")}
}

// lookAtLinger tells whether the daemon outlives the owner's sessions.
func (p *patient) lookAtLinger(k *keeper) []finding {
	on, known := k.linger(p.a)
	switch {
	case !known:
		return nil
	case on:
		return []finding{{"linger", fine, "the daemon runs for as long as the machine does", ""}}
	}
	return []finding{{"linger", shaky, "the daemon ends when you log out, and does not start with the machine", "loginctl enable-linger"}}
}
