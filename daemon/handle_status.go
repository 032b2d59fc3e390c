package daemon

import (
	"context"
	"os"

	"scv/daemon/config"
	"scv/wire"
)

// status is what every accepted command replies with.
func (d *Daemon) status() (wire.DaemonStatus, error) {
	runs, err := d.runs.Summary()
	return wire.DaemonStatus{
		Version: d.o.Version, PID: uint32(os.Getpid()), Components: d.accounts.Health(), Delegations: runs,
	}, err
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

// handleRestart refuses for now.
func (d *Daemon) handleRestart(context.Context, call, wire.Command) (wire.DaemonStatus, error) {
	return wire.DaemonStatus{}, wire.Refuse(wire.RestartError,
		"this release cannot restart itself: stop it (SIGTERM) and start the new one; nothing is lost by that")
}
