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

// Restarts lists the restart that is under way and those that have ended.
func (v *View) Restarts() (list []Restart) {
	for _, rec := range ascend[Restart](v.t, tableRestart, nil) {
		list = append(list, rec)
	}
	return list
}

// UntoldRestarts lists the restarts that have ended and whose outcome the owner has not heard of.
func (v *View) UntoldRestarts() (list []Restart) {
	for _, rec := range ascend[Restart](v.t, tableRestart, nil) {
		if rec.Step == RestartDone && !rec.Told {
			list = append(list, rec)
		}
	}
	return list
}

// RestartOutcomes lists the restarts that have ended.
func (v *View) RestartOutcomes() (list []Restart) {
	for _, rec := range ascend[Restart](v.t, tableRestart, nil) {
		if rec.Step == RestartDone {
			list = append(list, rec)
		}
	}
	return list
}

// PutRestartPlan stores the restart that is under way.
func (s *Shared) PutRestartPlan(r Restart) error { return put(s.t, tableRestart, []byte(planKey), r) }

// EndRestart keeps a plan as the outcome it led to. An outcome that is there already stands, and the plan of
// that id is only dropped: so one plan has one outcome, however often its end is seen.
func (s *Shared) EndRestart(r Restart) error {
	if r.ID == "" || r.ID == planKey || r.Step != RestartDone {
		return fmt.Errorf("cannot end restart %q: it is %q", r.ID, r.Step)
	}
	if plan, under := get[Restart](s.t, tableRestart, []byte(planKey)); under && plan.ID == r.ID {
		if err := s.t.remove(tableRestart, []byte(planKey)); err != nil {
			return err
		}
	}
	if old, ended := get[Restart](s.t, tableRestart, []byte(r.ID)); ended && old.Told {
		return nil
	}
	return put(s.t, tableRestart, []byte(r.ID), r)
}
