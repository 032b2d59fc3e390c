package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"scv/daemon/process"
)

// gitLimit bounds the look at a name. It reads a few small files.
const gitLimit = 10 * time.Second

// commitID is git's own name of an object, by SHA-1 or by SHA-256.
var commitID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
})

// gitCommit is the id of the commit that a name means in this folder. Git itself is asked: what a name
// means depends on worktrees, packed refs and much that it alone knows.
func (a *app) gitCommit(name string) (string, error) {
	git, err := exec.LookPath("git")
	if err == nil {
		git, err = filepath.Abs(git)
	}
	if err != nil {
		return "", errors.New("git is not on the PATH")
	}
	out, err := a.outputOf(git, "rev-parse", "--verify", "--end-of-options", name+"^{commit}")
	if err != nil {
		return "", err
	}
	if !commitID().MatchString(out) {
		return "", fmt.Errorf("git answered %q", out)
	}
	return out, nil
}

// outputOf runs a short program in our folder and environment, and returns what it printed, trimmed.
func (a *app) outputOf(path string, args ...string) (string, error) {
	out, outEnd, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer out.Close()
	procs := process.NewTable()
	child, err := procs.Spawn(process.Spec{Path: path, Args: args, Env: os.Environ(), Stdout: outEnd, Stderr: outEnd})
	outEnd.Close()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(a.ctx, gitLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), gitLimit)
		defer cancel()
		_, _ = procs.Stop(ending, process.Run{Leader: child.ID(), Group: child.ID().PID})
	})
	defer stop()
	printed, readErr := io.ReadAll(io.LimitReader(out, 4096))
	exit, err := child.Wait()
	said := strings.TrimSpace(string(printed))
	switch {
	case errors.Join(readErr, err) != nil:
		return "", fmt.Errorf("cannot run %q: %w", path, errors.Join(readErr, err))
	case ctx.Err() != nil:
		return "", fmt.Errorf("%q did not end in time", path)
	case exit.Code != 0:
		return "", fmt.Errorf("git says: %s", said)
	}
	return said, nil
}
