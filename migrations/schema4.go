package migrations

import "go.etcd.io/bbolt"

// addFiles makes schema 4, in which records of claims and outbox may have a member "files", a list of objects.
// Nothing that is there changes. A program of schema 3 would read such a record and drop that member when it
// writes the record again, and with it a person's file; so it must not open the store.
func addFiles(*bbolt.Tx) error { return nil }
