package migrations

import "go.etcd.io/bbolt"

// addReports makes schema 2: it adds a bucket for how delegations ended. Its keys are handles, its values JSON objects that begin
// with "v":1.
func addReports(tx *bbolt.Tx) error {
	_, err := tx.CreateBucket([]byte("reports"))
	return err
}
