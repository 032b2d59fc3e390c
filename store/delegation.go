package store

// DelegationRow is a delegation with its handle.
type DelegationRow struct {
	Handle string
	Delegation
}

// Delegation reads the record of one run.
func (v *View) Delegation(handle string) (Delegation, bool) {
	return get[Delegation](v.t, tableDelegations, []byte(handle))
}

// Delegations lists all runs on record, sorted by handle.
func (v *View) Delegations() (rows []DelegationRow) {
	for key, rec := range ascend[Delegation](v.t, tableDelegations, nil) {
		rows = append(rows, DelegationRow{string(key), rec})
	}
	return rows
}

// PutDelegation stores the record of a run.
func (o *Observation) PutDelegation(handle string, d Delegation) error {
	return put(o.t, tableDelegations, []byte(handle), d)
}

// DeleteDelegation forgets a run whose end was reported.
func (o *Observation) DeleteDelegation(handle string) error {
	return o.t.remove(tableDelegations, []byte(handle))
}

// Report reads how a delegation ended.
func (v *View) Report(handle string) (RunReport, bool) {
	return get[RunReport](v.t, tableReports, []byte(handle))
}

// PutReport stores how a delegation ended. The first report stands: a run has exactly one.
func (d *Delivery) PutReport(handle string, r RunReport) error {
	if _, told := d.Report(handle); told {
		return nil
	}
	return put(d.t, tableReports, []byte(handle), r)
}
