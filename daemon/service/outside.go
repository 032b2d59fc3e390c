package service

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"scv/daemon/process"
)

// cgroupStamp is stamped by the linker into the builds of tests, which run in no unit: the cgroup to believe in.
var cgroupStamp string

// runLimit is how long systemd may need to start something.
const runLimit = 10 * time.Second

// Outside starts programs outside of the unit that this process belongs to. systemd ends what is left of a unit
// that it gives up, wherever a session of its own may be: only another unit has another fate.
type Outside struct {
	user  bool // the user's own manager runs the unit
	procs *process.Table
	path  string // where systemd-run is looked for: PATH
	env   []string
}

// OutsideOf is that for a daemon with this environment; nil where it runs in no unit.
func OutsideOf(environ []string, procs *process.Table) *Outside {
	path := cgroupStamp
	if path == "" {
		path = ownCgroup()
	}
	if valueOf(environ, "INVOCATION_ID") == "" || !inService(path) {
		return nil
	}
	return &Outside{
		user: strings.Contains(path, "/user@"), procs: procs, path: valueOf(environ, "PATH"), env: unspoken(environ),
	}
}

// unspoken is an environment without the way to speak for this process.
func unspoken(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == envSocket || name == envWatchdog || name == envWatched
	})
}

// ownCgroup is the cgroup by which systemd knows this process, "" where there is none.
func ownCgroup() string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	found := ""
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch kind, path, _ := strings.Cut(rest, ":"); kind {
		case "name=systemd": // its own hierarchy, where there still is one
			return path
		case "":
			found = path
		}
	}
	return found
}

// inService reports whether the innermost unit of a cgroup is a service. A shell in a desktop or over ssh is in a
// scope, though it may have inherited the variables of a service.
func inService(cgroup string) bool {
	for _, name := range slices.Backward(strings.Split(cgroup, "/")) {
		switch filepath.Ext(name) {
		case ".service":
			return true
		case ".scope", ".slice":
			return false
		}
	}
	return false
}

// Way reports why nothing can be started outside of the unit; nil where it can. It really starts something: only
// then is it known that systemd is there and lets us.
func (o *Outside) Way(ctx context.Context) error {
	run, err := lookIn(o.path, "systemd-run")
	if err != nil {
		return err
	}
	return o.run(ctx, run, o.env, "scv-probe-"+token(), "--service-type=oneshot", "--", run, "--version")
}

// Launch starts a program as a unit of its own, called after name. It returns once systemd has started it, and
// whoever wants to know its process must learn that from the program. What it is to have of an environment must
// reach it by other means: what a unit is given, every user of the machine may see.
func (o *Outside) Launch(ctx context.Context, name string, spec process.Spec) error {
	run, err := lookIn(o.path, "systemd-run")
	if err != nil {
		return err
	}
	args := []string{
		"--description=SCV: watches over a restart", "--working-directory=" + spec.Dir,
		"--property=KillMode=process", "--property=Delegate=yes", "--property=TimeoutStopSec=" + stopSeconds,
		"--", spec.Path,
	}
	for _, arg := range spec.Args {
		args = append(args, strings.ReplaceAll(arg, "$", "$$")) // systemd looks for variables in them
	}
	return o.run(ctx, run, spec.Env, name+"-"+token(), args...)
}

func (o *Outside) run(ctx context.Context, program string, env []string, unit string, args ...string) error {
	args = append([]string{"--collect", "--quiet", "--unit=" + unit}, args...)
	if o.user {
		args = append([]string{"--user"}, args...)
	}
	said, exit, err := o.procs.Words(ctx, process.Spec{Path: program, Args: args, Env: env, Dir: "/"}, runLimit)
	if err != nil {
		return fmt.Errorf("cannot start a unit with systemd-run: %w", err)
	}
	if exit.Code != 0 {
		return fmt.Errorf("cannot start a unit with systemd-run: %s", wordsOf(said, exit))
	}
	return nil
}

// wordsOf is what a program said on its way out.
func wordsOf(said []byte, exit process.Exit) string {
	if text := strings.Join(strings.Fields(string(said)), " "); text != "" {
		return text
	}
	return fmt.Sprintf("exit code %d %s", exit.Code, exit.Signal)
}

// token makes the names of units differ: one may still be there when the next is started.
func token() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// lookIn finds a program as a shell does.
func lookIn(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(found) {
			return found, nil
		}
	}
	return "", fmt.Errorf("%s is %w", name, errNone)
}

// errNone says that a program of a service manager is not there.
var errNone = errors.New("not on the PATH")

func valueOf(environ []string, name string) string {
	for _, v := range slices.Backward(environ) {
		if value, is := strings.CutPrefix(v, name+"="); is {
			return value
		}
	}
	return ""
}
