//go:build !failpoints

package failpoint

// Hit is nothing in this build.
func Hit(string) error { return nil }

// Broken is false in this build.
func Broken(string) bool { return false }
