package service

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"scv/daemon/process"
)

// callLimit is how long one call of a manager's program may take. They answer at once, or after a stop.
const callLimit = 40 * time.Second

// stopSeconds is how long a daemon may need to stop before it is killed: it promises 8 s.
const stopSeconds = "20"

// Wanted is what a manager is to keep running.
type Wanted struct {
	Program string // absolute, as it was called, with its links: there the next release will be installed
	Home    string // canonical; "" for the default home
	Path    string // PATH for the daemon, where it finds its agents
}

// State is what a manager says of a unit.
type State struct {
	Known  bool   // it has the unit
	Active bool   // it keeps the daemon running, or is about to
	PID    int    // of the daemon; 0 while there is none
	Ended  int    // how often it has started the daemon again, as far as it counts that
	Words  string // as the manager says it
}

// Manager is the user's own service manager on this machine.
type Manager interface {
	// Name is what people call it.
	Name() string
	// Unit is what it calls our unit.
	Unit() string
	// File is where its description of the unit stands.
	File() string
	// Describe is what should stand there, without its seal.
	Describe(w Wanted) (string, error)
	// Present reports whether its program is here.
	Present() bool
	// Reach reports why the manager is not there; nil where it is.
	Reach(ctx context.Context) error
	State(ctx context.Context) (State, error)
	// Start makes the manager read the file, start the daemon now and with each login, and returns before it serves.
	Start(ctx context.Context) error
	// Stop ends the daemon until the next login, and waits for its end.
	Stop(ctx context.Context) error
	// Restart ends the daemon and starts it as the file says now.
	Restart(ctx context.Context) error
	// Advice is how to see what the manager knows of the unit, and how to have it start no more by itself.
	Advice() (see, forget string)

	// seal is how the file ends, in two parts with the sum between them.
	seal() (before, after string)
	// parts name what a line of the file is about, for people, by words that stand in it.
	parts() []part
}

// part is one thing that a file says.
type part struct{ mark, name string }

// Place is where a manager is to be found and what it is to keep.
type Place struct {
	User     string   // home folder of the user
	Instance string   // of the home of SCV; "" for the default home, whose unit has the plain name
	UID      int      // of the user
	Environ  []string // of the caller
	Procs    *process.Table
}

// Here is the manager of this machine's kind.
func Here(p Place) Manager {
	if runtime.GOOS == "darwin" {
		return newLaunchd(p)
	}
	return newSystemd(p)
}

// caller calls the program of a manager.
type caller struct {
	procs   *process.Table
	program string // as it is found on the PATH
	environ []string
}

func (c caller) Present() bool {
	_, err := lookIn(valueOf(c.environ, "PATH"), c.program)
	return err == nil
}

// call gives what it printed. Its error tells what was asked and what was said.
func (c caller) call(ctx context.Context, args ...string) (string, error) {
	path, err := lookIn(valueOf(c.environ, "PATH"), c.program)
	if err != nil {
		return "", err
	}
	said, exit, err := c.procs.Words(ctx, process.Spec{Path: path, Args: args, Env: c.environ, Dir: "/"}, callLimit)
	what := filepath.Base(path)
	for _, arg := range args {
		if !strings.HasPrefix(arg, "--property") { // a list that says nothing to a person
			what += " " + arg
		}
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", what, err)
	case exit.Code != 0:
		return string(said), fmt.Errorf("%s: %s", what, wordsOf(said, exit))
	}
	return string(said), nil
}
