package delegation

import (
	"context"
	"fmt"
	"time"
)

// outputInterval is between two looks at what a run has printed: a program that only prints writes
// gigabytes in a second.
const outputInterval = 200 * time.Millisecond

// watchOutput bounds what a run prints until its leader has exited.
func (r *Run) watchOutput() {
	tick := time.NewTicker(outputInterval)
	defer tick.Stop()
	for {
		select {
		case <-r.exited:
			return
		case <-tick.C:
			r.bound()
		}
	}
}

// bound stops a run that has printed too much; of an agent that stays it throws the errors away.
func (r *Run) bound() {
	if r.size() <= r.keeper.o.maxOutput {
		return
	}
	r.bounding.Lock()
	defer r.bounding.Unlock()
	if r.stays {
		r.trim()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := r.Stop(ctx, fmt.Sprintf("because it printed more than %d MiB", r.keeper.o.maxOutput>>20)); err != nil {
		r.keeper.o.Log.Error("cannot stop a run that prints too much, trying again", "handle", r.Handle, "err", err)
	}
}

// Exited is closed when the run's leader has exited; what it left behind is stopped until Done.
func (r *Run) Exited() <-chan struct{} { return r.exited }
