package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"scv/daemon/process"
	"scv/daemon/restart"
	"scv/daemon/service"
	"scv/internal/layout"
	"scv/wire"
	"scv/wire/bus"
)

// keeper is the service manager of this user, with what it keeps or is to keep.
type keeper struct {
	service.Manager
	place  service.Place
	home   string
	wanted service.Wanted
}

// managersEnviron is what the programs of a manager need of an environment.
var managersEnviron = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS"}

// keeper finds out what a manager would have to do for this home. It asks nobody.
func (a *app) keeper() (*keeper, error) {
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	user := a.getenv("HOME")
	if !filepath.IsAbs(user) {
		return nil, failf(exitFailed, "", "cannot find your home folder: HOME is not set")
	}
	program, err := restart.OwnPath(os.Args[0], a.getenv("PATH"))
	if err != nil {
		return nil, err
	}
	k := &keeper{
		home: home, wanted: service.Wanted{Program: program, Path: a.getenv("PATH")},
		place: service.Place{User: user, UID: os.Getuid(), Procs: process.NewTable()},
	}
	if usual := filepath.Join(user, ".scv"); home != usual && home != resolved(usual) {
		k.wanted.Home, k.place.Instance = home, layout.Instance(home)
	}
	for _, name := range managersEnviron {
		if value := a.getenv(name); value != "" {
			k.place.Environ = append(k.place.Environ, name+"="+value)
		}
	}
	k.Manager = service.Here(k.place)
	return k, nil
}

func resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	return real
}

// forPerson refuses agents, and finds the manager, which must be there.
func (a *app) forPerson(verb string) (*keeper, error) {
	if a.getenv("SCV_PARENT") != "" {
		return nil, failf(exitFailed, "to restart into a new release: scv restart --when-idle",
			"this shell belongs to an agent that SCV started, and scv %s in it is refused", verb)
	}
	return a.keeper()
}

// reach is why the manager is not there, with what to do.
func (a *app) reach(k *keeper) error {
	if err := k.Reach(a.ctx); err != nil {
		if a.ctx.Err() != nil {
			return errInterrupted
		}
		return failf(exitFailed, "run the daemon in the foreground, or under a supervisor of your own: "+a.command("run"),
			"no service manager can keep the daemon running here: %w", err)
	}
	return nil
}

// managerLimit is how long a manager may take to say that it is there.
const managerLimit = 3 * time.Second

// canKeep reports whether scv start can work here, so that nobody is told to try where it cannot.
func (a *app) canKeep(k *keeper) bool {
	ctx, cancel := context.WithTimeout(a.ctx, managerLimit)
	defer cancel()
	return k.Present() && k.Reach(ctx) == nil
}

// serveLimit is how long the first answer may take: a store may have to be looked through, or to migrate.
const serveLimit = 2 * time.Minute

// idleLimit is how long a unit may be between its end and its next start without being given up.
const idleLimit = 3 * time.Second

// awaitServing waits until the daemon that the manager has started answers, other than the process before, and
// gives its status. It gives up once the manager has, or has had to start the daemon again and again.
func (a *app) awaitServing(k *keeper, before int) (wire.DaemonStatus, error) {
	ctx, cancel := context.WithTimeout(a.ctx, serveLimit)
	defer cancel()
	defer a.slowly("waiting for the daemon")()
	first, active := -1, time.Now()
	var last service.State
	for {
		status, err := a.askOnce(ctx)
		st, unknown := k.State(ctx)
		if unknown == nil {
			last = st
		}
		if unknown == nil && first < 0 {
			first = st.Ended
		}
		if st.Active {
			active = time.Now()
		}
		switch {
		case a.ctx.Err() != nil:
			return status, errInterrupted
		case err == nil && unknown == nil && st.PID == int(status.PID) && st.PID != before:
			return status, nil
		case ctx.Err() != nil || unknown == nil && st.Ended > first+1 || time.Since(active) > idleLimit:
			return status, a.didNotStay(k, last)
		}
		pause(ctx, a.pace.watch/5)
	}
}

func (a *app) askOnce(ctx context.Context) (status wire.DaemonStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	err = a.exchange(ctx, func(ctx context.Context, client *bus.Client) (err error) {
		status, err = client.Control(ctx, wire.StatusCommand{})
		return err
	})
	return status, err
}

func (a *app) didNotStay(k *keeper, st service.State) error {
	see, _ := k.Advice()
	return failf(exitFailed, "see "+a.command("logs")+" and "+see+"; to end its tries: "+a.command("stop"),
		"%s started %s, and it does not serve: %s", k.Name(), k.Unit(), line(st.Words))
}

// stranger is a daemon that holds the home and is not the manager's.
func (k *keeper) stranger(st service.State) (service.Holder, bool) {
	h, held := service.HolderOf(k.home)
	return h, held && h.PID != st.PID
}

// mending is what to do about a config.toml that cannot be used. Without a daemon there is nothing to reload.
func (a *app) mending(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return notYours
	}
	if _, held := service.HolderOf(a.homeName()); held {
		return "mend the file, then: " + a.command("reload")
	}
	return "mend the file, then: " + a.command("run")
}

const notYours = "work as the user whose home it is, or name your own with --home DIR or SCV_HOME"
