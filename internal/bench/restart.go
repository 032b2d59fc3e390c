package main

import (
	"context"
	"errors"
	"os"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// releases are two builds whose waits are short: for a clear look, and until a release is trusted. What lies
// between the last answer of one and the first of the other is as in any build.
var releases = []string{"1.0.0", "2.0.0"}

const releaseStamps = " -X scv/daemon/restart.planStamp=20ms -X scv/daemon/restart.soakStamp=100ms"

// measureRestart compares how long nobody answers while a daemon goes over to another release, under a client
// that asks all the time, with a plain start of the same build.
func measureRestart(ctx context.Context, b *bench) (rows []row, err error) {
	for _, version := range releases {
		if err := b.build(ctx, version, "./cmd/scv", "-X main.version="+version+releaseStamps); err != nil {
			return nil, err
		}
	}
	current := 0
	if err := b.install(releases[current]); err != nil {
		return nil, err
	}
	d, err := b.startAs(ctx, "installed", "restarted")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	ours := func(ctx context.Context) (float64, error) {
		current = 1 - current
		if err := b.install(releases[current]); err != nil {
			return 0, err
		}
		silent, err := goOver(ctx, bus.SocketDialer(d.socket), releases[current])
		return milliseconds(silent), err
	}
	plain := func(ctx context.Context) (float64, error) {
		began := time.Now()
		d, err := b.startAs(ctx, releases[0], "plain")
		if err != nil {
			return 0, err
		}
		return milliseconds(time.Since(began)), d.stop()
	}
	if _, err := plain(ctx); err != nil { // makes the home: a first start is no usual one
		return nil, err
	}
	m, err := inTurns(ctx, 8, ours, plain)
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("a restart into another release: from the last answer of the old one to the first of the new, against a plain start", m[0], m[1], m[0]/m[1], 3, "ms"),
	}, nil
}

// install puts a release in place of the installed one.
func (b *bench) install(version string) error {
	program, err := os.ReadFile(b.path(version))
	if err != nil {
		return err
	}
	if err := os.WriteFile(b.path("installed.new"), program, 0o755); err != nil {
		return err
	}
	return os.Rename(b.path("installed.new"), b.path("installed"))
}

// goOver asks for a restart, as soon as the daemon takes the request, and gives the time from the last answer
// of the old release to the first of the new one.
func goOver(ctx context.Context, dial bus.Dialer, version string) (silent time.Duration, err error) {
	last, asked := time.Now(), false
	for {
		over := false
		err := bus.Do(ctx, dial, func(ctx context.Context, c *bus.Client) error {
			for {
				status, err := c.Control(ctx, wire.StatusCommand{})
				if err != nil {
					return err
				}
				if status.Version == version {
					over = true
					return nil
				}
				last = time.Now()
				if asked {
					continue
				}
				if asked, err = askedRestart(ctx, c); err != nil {
					return err
				}
			}
		})
		if over {
			return time.Since(last), nil
		}
		if !errors.Is(err, bus.ErrLost) && !errors.Is(err, bus.ErrNoDaemon) && !errors.Is(err, bus.ErrStarting) {
			return 0, err
		}
	}
}

// askedRestart asks for a restart. While the latest one is still on probation it is refused.
func askedRestart(ctx context.Context, c *bus.Client) (bool, error) {
	_, err := c.Control(ctx, wire.RestartWhenIdleCommand{})
	if refusal := (*wire.Error)(nil); errors.As(err, &refusal) {
		return false, nil
	}
	return err == nil, err
}
