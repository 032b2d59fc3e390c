package main

import (
	"context"
	"fmt"
	"sync"

	"scv/wire"
	"scv/wire/bus"
)

type doctorCmd struct {
	JSON bool `help:"Print an array, one object per finding."`
}

func (*doctorCmd) Help() string {
	return "It changes nothing, and works with or without a daemon. Exit code 1 if anything is bad."
}

// health is how one thing is.
type health string

const (
	fine  health = "ok"
	shaky health = "warn" // works, but a person may want to know
	broke health = "bad"  // something does not work because of it
)

// finding is one thing that was looked at.
type finding struct {
	Name  string `json:"name"`
	State health `json:"state"`
	Found string `json:"found"`
	Todo  string `json:"todo,omitzero"` // what to do about it
}

// patient is one home under examination.
type patient struct {
	a      *app
	home   string
	pid    uint32 // of the daemon that answered; 0 without one
	down   error  // why none did
	closed bool   // it is somebody else's, who lets nobody in

	canKeep func() bool // whether scv start can work here; asked once
}

// looks are made in this order; the daemon comes early, because others depend on whether it answers.
func (p *patient) looks() []func() []finding {
	return []func() []finding{
		p.lookAtHome, p.lookAtConfig, p.lookAtDaemon, p.lookAtService, p.lookAtLock, p.lookAtStore, p.lookAtLog, p.lookAtAgents, p.lookAtMachine,
	}
}

func (c *doctorCmd) Run(a *app) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	p := &patient{a: a, home: home}
	p.canKeep = sync.OnceValue(func() bool {
		k, err := a.keeper()
		return err == nil && a.canKeep(k)
	})
	var all []finding
	for _, look := range p.looks() {
		if a.ctx.Err() != nil {
			return errInterrupted
		}
		all = append(all, look()...)
		if p.closed { // nothing in it can be looked at, and each look would say so
			break
		}
	}
	if c.JSON {
		err = a.printJSON(all)
	} else {
		a.printFindings(all)
	}
	if err == nil && worst(all) == broke {
		err = ended(exitFailed)
	}
	return err
}

func worst(all []finding) health {
	w := fine
	for _, f := range all {
		if f.State == broke || w == fine {
			w = f.State
		}
	}
	return w
}

func (a *app) printFindings(all []finding) {
	looks := map[health]style{fine: good, shaky: warn, broke: bad}
	t := table{}
	count := map[health]int{}
	for _, f := range all {
		count[f.State]++
		t.row(cell{string(f.State), looks[f.State]}, cell{f.Name, plain}, cell{f.Found, plain})
		if f.Todo != "" {
			t.row(cell{"", plain}, cell{"", plain}, cell{"-> " + f.Todo, dim})
		}
	}
	t.write(a.stdout, a.colour)
	a.say("")
	switch {
	case count[broke] > 0:
		a.say("%s to mend", counted(count[broke], "thing"))
	case count[shaky] > 0:
		a.say("nothing is broken, %s", counted(count[shaky], "warning"))
	default:
		a.say("all is well")
	}
}

// lookAtDaemon asks the daemon how it is.
func (p *patient) lookAtDaemon() []finding {
	var status wire.DaemonStatus
	p.down = p.a.call(readLimit, func(ctx context.Context, client *bus.Client) (err error) {
		status, err = client.Control(ctx, wire.StatusCommand{})
		return err
	})
	switch exitCode(p.down) {
	case exitOK:
	case exitNoDaemon:
		todo := "start it: " + p.a.command("run")
		if p.canKeep() {
			todo += ", or have it kept running: " + p.a.command("start")
		}
		return []finding{{"daemon", shaky, "none is running", todo}}
	default:
		return []finding{{"daemon", broke, p.down.Error(), hintOf(p.down)}}
	}
	p.pid = status.PID
	found := []finding{{"daemon", fine, fmt.Sprintf("scv %s, pid %d, answers", status.Version, status.PID), ""}}
	if status.Version != thisBuild().Version {
		found[0].State, found[0].Todo = shaky, "this scv is "+thisBuild().Version+"; to go over to what is installed: "+p.a.command("restart --when-idle")
	}
	for _, h := range status.Components {
		if h.State == wire.Failed || h.State == wire.Backoff || h.State == wire.Disconnected {
			found = append(found, finding{"account", shaky, h.ID + " is " + string(h.State) + ": " + orDash(h.Error), "see " + p.a.command("channels")})
		}
	}
	return append(found, p.lookAtNotify(status.Components)...)
}
