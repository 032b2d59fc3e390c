package daemon

import (
	"context"
	"errors"
	"os"
	"time"

	"scv/daemon/delegation"
	"scv/daemon/process"
	"scv/daemon/restart"
	"scv/daemon/transport"
)

// departure is what the daemon goes over to once all rooms are closed.
type departure struct {
	handover restart.Handover
	mark     string // of the new program, as it was proven to be the one agreed on
}

// moving is what a daemon that goes over to another program keeps.
type moving struct {
	under    bool     // the lock and the socket are kept
	listener *os.File // the socket
}

// depart closes all rooms and becomes the new release. It returns only when that fails: with what the next
// life of this very process starts with, so that the old release serves again at once.
func (d *Daemon) depart(ctx context.Context, to departure) (again *restart.Start, err error) {
	d.log.Info("going over to another release", "from", d.o.Version, "to", to.handover.New.Version)
	d.pulse.Busy(departLimit)
	d.moving.under, d.rooms.cause = true, delegation.ErrMoving
	// What may take long ends first, while requests are still answered.
	d.rooms.before("runs", "delegations", "housekeeping", "live agents", "turns")
	d.rooms.stop(d.log)
	folder := restart.In(d.home.Path)
	err = folder.KeepStore(to.handover)
	if err == nil && !to.handover.Unchanged(to.mark) {
		err = restart.ErrReplaced
	}
	if err == nil {
		err = restart.Become(d.next(to.handover), d.o.Signals)
	}
	if errors.Is(err, process.ErrSignalled) { // the plan stays, and whoever starts next finds it
		d.o.Log.Info("stopping")
		return nil, errors.Join(folder.NoteStopped(), d.letGo())
	}
	d.o.Log.Error("cannot go over to the new release; serving again", "err", err)
	again = &restart.Start{
		Lock: d.lock, Listener: d.moving.listener, Role: d.o.Start.Role, Binary: d.o.Start.Binary,
		Settled: &restart.Settled{Plan: to.handover.Plan, Why: err.Error()},
	}
	if err := d.forget(folder); err != nil {
		return nil, errors.Join(err, d.letGo())
	}
	return again, nil
}

// forget ends a hand-over that has failed, before the store is opened again: its copy must never come back over
// what is acknowledged from now on. An error says that it still would, so that the daemon has to end: the next
// start puts the copy back, and nothing was acknowledged in between.
func (d *Daemon) forget(folder restart.Folder) error {
	for deadline := time.Now().Add(forgetLimit); ; time.Sleep(forgetPause) {
		err := folder.End()
		if err == nil {
			return nil
		}
		d.o.Log.Error("cannot clear up after a restart that did not happen", "err", err)
		switch _, under, unread := folder.Read(); {
		case !under && unread == nil:
			return nil // what is left is in nobody's way
		case time.Now().After(deadline):
			return err
		}
	}
}

// How long forgetting is tried again: the old release has to serve again within 5 s.
const (
	forgetLimit = 2 * time.Second
	forgetPause = 100 * time.Millisecond
)

// letGo gives up what was kept for a next program that will not be.
func (d *Daemon) letGo() error {
	if d.moving.listener != nil {
		d.moving.listener.Close()
	}
	d.lock.Release()
	return nil
}

// next is the new release as a program to become. A stand-in stays one.
func (d *Daemon) next(h restart.Handover) restart.Next {
	return restart.Next{
		Path: h.Binary, Args: d.o.Args, Environ: d.o.Environ, Home: d.home.Path, Binary: h.Binary,
		SHA256: h.New.SHA256, Role: d.o.Start.Role, Lock: d.lock, Listener: d.moving.listener,
	}
}

// closeLock gives the home up, unless the next program of this process serves it.
func (d *Daemon) closeLock() error {
	if !d.moving.under {
		d.lock.Release()
	}
	return nil
}

// letRunsGo leaves the runs that go on to the next program.
func (d *Daemon) letRunsGo() error {
	if d.moving.under {
		d.runs.LetGo()
	}
	return nil
}

// closeTransport closes the socket, or keeps it for the next program.
func (d *Daemon) closeTransport(server *transport.Server) error {
	if d.moving.under {
		d.moving.listener = server.Leave()
		return nil
	}
	server.Close()
	return nil
}

// leaveSoon is closeTransport for a release that is rolled back: its clients are cut.
func (d *Daemon) leaveSoon() *os.File {
	server := d.serving.Load()
	if server == nil {
		return d.o.Start.Listener // not used yet
	}
	left := make(chan *os.File, 1)
	go func() { left <- server.Leave() }()
	select {
	case file := <-left:
		return file
	case <-time.After(leaveLimit):
		return nil
	}
}

// leaveLimit is how long a release that is rolled back lets last replies out.
const leaveLimit = 300 * time.Millisecond

// noteStop tells the guard of a restart that we were told to end, so that our end is no crash. It may come
// before the first step of a start.
func (d *Daemon) noteStop() {
	var err error
	if p := d.o.Start.Probation; p != nil {
		err = p.Stopping()
	} else if _, under, _ := restart.In(d.home.Path).Read(); under {
		err = restart.In(d.home.Path).NoteStopped()
	}
	if err != nil {
		d.log.Error("cannot note that the stop is on purpose", "err", err)
	}
}
