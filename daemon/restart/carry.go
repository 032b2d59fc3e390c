package restart

import (
	"os"
	"strings"

	"github.com/go-json-experiment/json"

	"scv/daemon/lock"
	"scv/daemon/process"
)

// Variable carries from one program to the next, in the same process, what cannot stand in a file: which
// descriptors are open. Whoever else finds it in an environment is not meant.
const Variable = "SCV_CARRIED"

// carried is what the variable holds.
type carried struct {
	PID      int       `json:"pid"`
	Home     string    `json:"home"`
	Lock     int       `json:"lock"`              // descriptor of daemon.lock, locked
	Listener int       `json:"listener,omitzero"` // of the socket; 0 for none
	Binary   string    `json:"binary"`            // see OwnPath
	SHA256   string    `json:"sha256,omitzero"`   // of the program that now runs, if Mark still fits it
	Mark     string    `json:"mark,omitzero"`
	Role     lock.Role `json:"role"`
	Old      bool      `json:"old,omitzero"` // it is gone back to
}

// find takes the variable out of an environment.
func find(environ []string) (c carried, rest []string, found bool) {
	for _, v := range environ {
		text, is := strings.CutPrefix(v, Variable+"=")
		if !is {
			rest = append(rest, v)
			continue
		}
		found = json.Unmarshal([]byte(text), &c) == nil && c.PID == os.Getpid()
	}
	if !found {
		c = carried{}
	}
	return c, rest, found
}

// Without is an environment without what is carried.
func Without(environ []string) []string {
	_, rest, _ := find(environ)
	return rest
}

// Next is a program to become.
type Next struct {
	Path     string // of the file to run
	Args     []string
	Environ  []string
	Home     string
	Binary   string // what the next release will be installed at
	SHA256   string // of the file, "" for unknown
	Role     lock.Role
	Old      bool // a release that is gone back to
	Lock     *lock.Lock
	Listener *os.File // nil for none
}

// Become replaces this program by the next one. It returns only when that fails, or a signal asked for
// the end. The lock tells meanwhile what this process is about to be: if the new program hangs before its
// first line, the guard must know whom it may end.
func Become(n Next, signals process.Signals) error {
	self, err := process.Self()
	if err != nil {
		return err
	}
	before, err := lock.Read(n.Lock.File().Name())
	if err != nil {
		return err
	}
	next := lock.Own(self, n.Role, n.SHA256)
	next.Back = n.Old
	if err := n.Lock.Write(next); err != nil {
		return err
	}
	c := carried{
		PID: self.PID, Home: n.Home, Lock: process.Number(n.Lock.File()), Binary: n.Binary,
		SHA256: n.SHA256, Mark: mark(n.Path), Role: n.Role, Old: n.Old,
	}
	keep := []*os.File{n.Lock.File()}
	if n.Listener != nil {
		c.Listener = process.Number(n.Listener)
		keep = append(keep, n.Listener)
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	err = process.Exec(n.Path, n.Args, append(Without(n.Environ), Variable+"="+string(text)), keep, signals)
	if undone := n.Lock.Write(before); undone != nil && err == nil {
		err = undone
	}
	return err
}
