package migrations

import "go.etcd.io/bbolt"

// addReportsAndRestarts makes schema 2: a bucket for how delegations ended, by handle, and one for the plan of
// a restart, under "plan", and the outcomes of earlier ones, under their ids. Values are JSON objects that
// begin with "v":1.
func addReportsAndRestarts(tx *bbolt.Tx) error {
	for _, name := range []string{"reports", "restart"} {
		if _, err := tx.CreateBucket([]byte(name)); err != nil {
			return err
		}
	}
	return nil
}
