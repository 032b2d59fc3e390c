package store

import "fmt"

// planKey is where the restart that is under way stands.
const planKey = "plan"

// RestartPlan reads the restart that is under way.
func (v *View) RestartPlan() (Restart, bool) { return get[Restart](v.t, tableRestart, []byte(planKey)) }

// RestartOutcome reads a restart that has ended.
func (v *View) RestartOutcome(id string) (Restart, bool) {
	return get[Restart](v.t, tableRestart, []byte(id))
}

// PutRestartPlan stores the restart that is under way.
func (i *Intent) PutRestartPlan(r Restart) error { return put(i.t, tableRestart, []byte(planKey), r) }

// EndRestart keeps a plan as the outcome it led to. An outcome that is there already stands, and the plan of
// that id is only dropped: so one plan has one outcome, however often its end is seen.
func (i *Intent) EndRestart(r Restart) error {
	if r.ID == "" || r.ID == planKey || r.Step != RestartDone {
		return fmt.Errorf("cannot end restart %q: it is %q", r.ID, r.Step)
	}
	if plan, under := i.RestartPlan(); under && plan.ID == r.ID {
		if err := i.t.remove(tableRestart, []byte(planKey)); err != nil {
			return err
		}
	}
	if old, ended := i.RestartOutcome(r.ID); ended && old.Told {
		return nil
	}
	return put(i.t, tableRestart, []byte(r.ID), r)
}
