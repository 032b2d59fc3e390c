package delegation

import "scv/daemon/process"

// Explain says by what each live process of a run is known to belong to it. It looks afresh. The error is
// that of Unknown when the run is not on record.
func (k *Keeper) Explain(handle string) ([]process.Evidence, error) {
	d, known, err := k.Record(handle)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, Unknown(handle)
	}
	run := k.traced(handle, d)
	view, err := k.o.Procs.Scan(run)
	if err != nil {
		return nil, err
	}
	return process.Explain(view, run), nil
}
