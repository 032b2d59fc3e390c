package daemon

import (
	"context"
	"os"

	"scv/daemon/config"
	"scv/internal/failpoint"
	"scv/wire"
)

// status is what every accepted command replies with.
func (d *Daemon) status() (wire.DaemonStatus, error) {
	runs, err := d.runs.Summary()
	version := d.o.Version
	if failpoint.Broken(failpoint.BrokenVersion) {
		version = "9.9.9"
	}
	s := wire.DaemonStatus{
		Version: version, PID: uint32(os.Getpid()), Components: d.accounts.Health(), Delegations: runs,
	}
	if err != nil {
		return s, err
	}
	plan, under, err := d.plan()
	if err != nil || !under {
		return s, err
	}
	work, err := d.work(plan)
	s.Restart = restartInfo(plan, work)
	return s, err
}

func (d *Daemon) handleStatus(context.Context, call, wire.Command) (wire.DaemonStatus, error) {
	return d.status()
}

// handleReload rereads config.toml and looks at every account afresh, failed ones too. A file that
// cannot be used leaves the one in force.
func (d *Daemon) handleReload(ctx context.Context, c call, _ wire.Command) (wire.DaemonStatus, error) {
	loaded, err := config.Load(d.home.Path)
	if err != nil {
		return wire.DaemonStatus{}, wire.Refuse(wire.ComponentError, "the configuration in force stays: %v", err)
	}
	d.useConfig(loaded)
	if err := d.accounts.Reload(ctx); err != nil {
		return wire.DaemonStatus{}, err
	}
	d.wake()
	return d.status()
}
