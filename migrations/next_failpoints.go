//go:build failpoints

package migrations

import (
	"go.etcd.io/bbolt"

	"scv/internal/failpoint"
)

// A build for tests can be a release with one schema more, so that a restart into it, and back, can be tried.
func init() {
	if failpoint.Broken(failpoint.NewerSchema) {
		steps = append(steps, step{to: Newest() + 1, what: "nothing, for a test", apply: func(*bbolt.Tx) error {
			return failpoint.Hit(failpoint.RestartMigrate)
		}})
	}
}
