package migrations

import "go.etcd.io/bbolt"

// schema1 names the buckets of the first schema, as they were. Keys of claims, outbox and chat are
// <account>/<8 bytes of sequence, big-endian>; of seen and conversations <account>/<text>; of journal
// 8 bytes of sequence; of the rest text. Values are JSON objects that begin with "v":1, but for the
// schema number itself, which is decimal text.
var schema1 = []string{
	"meta",
	"accounts",
	"claims", "outbox", "seen", "conversations", "chat",
	"delegations",
	"confirms", "confirms_ended",
	"journal",
	"last_owner",
	"quarantine",
}

func createSchema1(tx *bbolt.Tx) error {
	for _, name := range schema1 {
		if _, err := tx.CreateBucket([]byte(name)); err != nil {
			return err
		}
	}
	return nil
}
