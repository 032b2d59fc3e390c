package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"scv/daemon/process"
	"scv/daemon/transport"
	"scv/internal/layout"
	"scv/store"
	"scv/wire"
	"scv/wire/bus"
)

// Safe mode is what is left when the store is damaged: the daemon says so to whoever asks for its
// status, refuses all else, starts nothing and signals nobody, since no record of a run can be trusted.
// It waits for a person instead of ending, so that no service manager starts it over and over.

// serveSafely tells of the damage until ctx ends.
func (d *Daemon) serveSafely(ctx context.Context, damage error) error {
	why := fmt.Sprintf("the store %q is damaged: stop this daemon (process %d), put a copy back with "+
		"%s, and start it again", d.home.join(layout.Store), d.self.PID, d.home.command("store restore"))
	d.log.Error("safe mode: the store is damaged, so only status is answered and nothing runs", "err", damage, "what to do", why)
	if err := d.openDoor(ctx, peerOnly, d.safeEndpoints(why)); err != nil {
		return errors.Join(err, damage)
	}
	d.pulse.Serving("the store is damaged: "+d.home.command("doctor"), d.keepAsking)
	<-ctx.Done()
	d.pulse.Stopping()
	d.log.Info("stopping")
	return nil
}

// peerOnly tells who connects. There are no runs to look for it in, and status is for everybody.
func peerOnly(conn *net.UnixConn) transport.Peer {
	uid, facts := process.Facts(conn)
	peer := transport.Peer{UID: uid}
	if len(facts.Chain) > 0 {
		peer.PID = facts.Chain[0].PID
	}
	return peer
}

// safeEndpoints answer status and refuse the rest with why.
func (d *Daemon) safeEndpoints(why string) []bus.Endpoint {
	refused := wire.Refuse(wire.Unavailable, "%s", why)
	var all []bus.Endpoint
	for _, r := range d.routes() {
		handle := func(context.Context, bus.Request) ([]byte, error) { return nil, refused }
		if r.subject == wire.SubjectControl {
			handle = func(_ context.Context, request bus.Request) ([]byte, error) {
				command, err := wire.DecodeCommand(request.Data)
				if err != nil {
					return nil, err
				}
				if command.Action() != "status" {
					return nil, refused
				}
				return wire.Encode(d.safeStatus(why))
			}
		}
		all = append(all, bus.Endpoint{Name: endpointName(r.subject), Subject: r.subject, Handle: handle})
	}
	return all
}

// safeStatus shows the account that every home has, failed. Which others there are, only the store knows.
func (d *Daemon) safeStatus(why string) wire.DaemonStatus {
	account := accountOf(defaultLocal, "")
	return wire.DaemonStatus{
		Version: d.o.Version, PID: uint32(os.Getpid()),
		Components: []wire.ComponentHealth{{
			ID: defaultLocal, Channel: account.Channel, Account: account.Name, Enabled: true,
			State: wire.Failed, Error: &why, RemoteTools: wire.ToolsNone,
		}},
	}
}

// damaged reports whether a start failed in a way that leaves safe mode.
func damaged(err error) bool { return errors.Is(err, store.ErrDamaged) }
