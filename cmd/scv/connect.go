package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"scv/internal/layout"
	"scv/wire"
	"scv/wire/bus"
)

const (
	// connectLimit bounds the handshake. A daemon that hangs must be told from one that is gone
	// within 3 s (docs/rules.md §10).
	connectLimit = 2500 * time.Millisecond
	// readLimit bounds a question that the daemon answers from memory.
	readLimit = 3 * time.Second
	// changeLimit bounds a change. The daemon itself gives up a request after 30 s.
	changeLimit = 35 * time.Second
	// backLimit is how long a daemon that just went away, or is just starting, is waited for.
	backLimit = 3 * time.Second
	backPause = 50 * time.Millisecond
)

// call makes one exchange with the daemon. A connection that breaks on the way, as it does when the
// daemon restarts, is tried once more, if need be after a short wait for the daemon to be back; the
// request id makes a repeat one effect.
func (a *app) call(limit time.Duration, ask func(context.Context, *bus.Client) error) error {
	ctx, cancel := context.WithTimeout(bus.WithRequestID(a.ctx, randomID()), limit)
	defer cancel()
	defer a.slowly("waiting for the daemon")()
	err := a.exchange(ctx, ask)
	met := errors.Is(err, bus.ErrLost)
	if met {
		err = a.exchange(ctx, ask)
	}
	comesBack := func() bool { return errors.Is(err, bus.ErrStarting) || met && errors.Is(err, bus.ErrNoDaemon) }
	for until := time.Now().Add(backLimit); comesBack() && time.Now().Before(until) && pause(ctx, backPause); {
		err = a.exchange(ctx, ask)
	}
	return a.explain(err)
}

func (a *app) exchange(ctx context.Context, ask func(context.Context, *bus.Client) error) error {
	client, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	return ask(ctx, client)
}

// connect finds the daemon of this home.
func (a *app) connect(ctx context.Context) (*bus.Client, error) {
	dir, err := a.home()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	return bus.Connect(ctx, bus.SocketDialer(bus.SocketPath(dir, layout.Instance(dir))))
}

// explain says in a person's words why an exchange failed.
func (a *app) explain(err error) error {
	var refused *wire.Error
	var told *failure
	switch {
	case err == nil:
		return nil
	case a.ctx.Err() != nil:
		return errInterrupted
	case errors.As(err, &told):
		return err
	case errors.As(err, &refused):
		return &failure{code: exitFailed, err: refused, hint: a.refusalHint(refused)}
	case errors.Is(err, bus.ErrNoDaemon):
		return a.nobodyListens()
	case errors.Is(err, bus.ErrNotAnswering), errors.Is(err, context.DeadlineExceeded):
		return failf(exitFailed, "look at its log with "+a.command("logs")+"; if it stays so, end that process and start again: "+a.command("run"),
			"the daemon%s is running but does not answer", a.lockHolder())
	case errors.Is(err, bus.ErrTooOld):
		return failf(exitFailed, "compare the versions: "+a.command("status"), "%w (this scv is %s)", bus.ErrTooOld, thisBuild().Version)
	case errors.Is(err, fs.ErrPermission):
		return failf(exitFailed, notYours, "you may not use the daemon of %s", a.homeName())
	case errors.Is(err, bus.ErrDenied):
		return failf(exitFailed, ownersOnly, "%w", err)
	}
	return err
}

// nobodyListens tells a daemon that is not there from one that lost its socket, or has none yet.
func (a *app) nobodyListens() error {
	said := a.lockHolder()
	pid, known, err := flockHolder(filepath.Join(a.homeName(), layout.Lock))
	if err != nil || !known || said != fmt.Sprintf(" (pid %d)", pid) { // both, since the kernel's list can mean another file
		return failf(exitNoDaemon, "start it: "+a.command("run"), "no daemon is running for %s", a.homeName())
	}
	todo := fmt.Sprintf("try again in a moment; if it stays so, see %s, end process %d and start again: %s", a.command("logs"), pid, a.command("run"))
	return failf(exitNoDaemon, todo, "scv runs with pid %d but cannot be reached: nothing listens on its socket", pid)
}

const ownersOnly = "this is kept for the owner: do it from a shell that no agent started"

// refusalHint says what to do about a refusal where its sentence alone cannot.
func (a *app) refusalHint(refused *wire.Error) string {
	switch refused.Code {
	case wire.InvalidJSON: // how a newer client meets an older daemon
		return "the daemon may be older than this scv " + thisBuild().Version + "; compare: " + a.command("status")
	case wire.Forbidden:
		return ownersOnly
	}
	return ""
}

func (a *app) homeName() string {
	dir, err := a.home()
	if err != nil {
		return "this home"
	}
	return dir
}

var firstNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\d+`)
})

// lockHolder names the process that holds daemon.lock, as " (pid N)", or "".
func (a *app) lockHolder() string {
	content, err := os.ReadFile(filepath.Join(a.homeName(), layout.Lock))
	if err != nil {
		return ""
	}
	pid := firstNumber().FindString(string(content))
	if pid == "" {
		return ""
	}
	return " (pid " + pid + ")"
}

// randomID is 128 random bits in hex: an id for a request or a message.
func randomID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
