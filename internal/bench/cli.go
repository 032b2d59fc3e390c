package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// measureCLI compares `scv status` with a process that only reads the first line of the socket.
func measureCLI(ctx context.Context, b *bench) (rows []row, err error) {
	d, err := b.startDaemon(ctx, "cli")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	m, err := inTurns(ctx, 40,
		b.timed("scv", "--home", d.home, "status"),
		b.timed("scv", "version"),
		b.timed("dial", d.socket))
	if err != nil {
		return nil, err
	}
	status, version, dial := m[0], m[1], m[2]
	return []row{
		atMost("`scv status` against a process that dials and reads a line", status, dial, status/dial, 3.5, "ms"),
		shown("of that, `scv version`: the same process without a daemon", amount(version, "ms"), amount(dial, "ms"), times(version/dial)),
	}, nil
}

// timed is how long a program takes from its start to its end.
func (b *bench) timed(name string, args ...string) sample {
	return func(ctx context.Context) (float64, error) {
		cmd := exec.CommandContext(ctx, b.path(name), args...)
		cmd.Env = []string{"HOME=" + b.base}
		began := time.Now()
		if out, err := cmd.Output(); err != nil {
			return 0, fmt.Errorf("%s %v failed: %w\n%s", name, args, err, out)
		}
		return milliseconds(time.Since(began)), nil
	}
}
