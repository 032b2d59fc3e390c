// Package layout names what stands in the home of one SCV. The daemon writes these files, and the hand
// looks at some of them where no daemon can be asked: both have the names from here. Everybody may come
// in; it opens nothing itself.
package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
)

// Names in the home.
const (
	Store = "scv.db"      // the memory; only the holder of Lock writes it
	Lock  = "daemon.lock" // held by the running daemon, its pid inside
	Logs  = "log"         // folder of the log

	Credentials = "credentials" // folder of what accounts sign in with

	Media = "media" // folder of files that came with messages and that go with answers

	Backups = "backup"  // folder of copies of the store
	Restart = "restart" // folder of what is under way between two releases
)

// The daemon's log in the folder Logs: JSON lines, and the same once more, older.
const (
	Log      = "scv.log"
	OlderLog = "scv.log.1"
)

// Instance names the instance whose home is the canonical path: the first 4 bytes of its SHA-256, in
// lowercase hex.
func Instance(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:4])
}

// LogFiles are the log of a home, oldest first. Any of them may be missing.
func LogFiles(path string) []string {
	folder := filepath.Join(path, Logs)
	return []string{filepath.Join(folder, OlderLog), filepath.Join(folder, Log)}
}
