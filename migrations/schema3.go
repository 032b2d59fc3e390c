package migrations

import "go.etcd.io/bbolt"

// addCursors makes schema 3: a bucket for where each account's receiving has come to, by <account>/<name>.
// Values are JSON objects that begin with "v":1.
func addCursors(tx *bbolt.Tx) error {
	_, err := tx.CreateBucket([]byte("cursors"))
	return err
}
