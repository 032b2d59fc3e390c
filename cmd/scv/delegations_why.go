package main

import (
	"context"
	"fmt"

	"scv/wire"
	"scv/wire/bus"
)

// explain prints what ties each process to a run: what a kill would stop, and why.
func (c *delegationList) explain(a *app) error {
	if c.All || c.Watch {
		return failf(exitUsage, "try: scv delegations --why HANDLE", "--why is about one run and goes with --json only")
	}
	var evidence wire.DelegationEvidence
	err := a.call(readLimit, func(ctx context.Context, client *bus.Client) (err error) {
		evidence, err = client.DelegationExplain(ctx, c.Why)
		return err
	})
	switch {
	case err != nil:
		return err
	case c.JSON:
		return a.printJSON(evidence)
	case len(evidence.Processes) == 0:
		a.say("no process of %s is left", line(evidence.Handle))
		return nil
	}
	t := table{}
	t.head("PID", "PROGRAM", "TIED BY")
	for _, p := range evidence.Processes {
		t.row(count(p.PID), cell{p.Name, plain}, cell{tiedBy(p), plain})
	}
	t.write(a.stdout, a.colour)
	return nil
}

// tiedBy puts the word of the daemon into a sentence.
func tiedBy(p wire.ProcessTied) string {
	switch p.How {
	case "leader":
		return "it is the agent that was started"
	case "group":
		return "it is in the agent's process group"
	case "tag":
		return "it was started with the run's mark in its environment"
	case "cgroup":
		return "it is in the run's cgroup"
	case "seen before":
		return "it was seen to belong to the run earlier"
	case "below":
		if p.Via != nil {
			return fmt.Sprintf("process %d of the run started it", *p.Via)
		}
	}
	return p.How // of a newer daemon
}
