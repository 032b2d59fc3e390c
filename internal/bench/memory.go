package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	settled     = 3 * time.Second // after a start, until memory is looked at
	memoryBound = 40.0            // MiB
	mib         = 1 << 20
)

// share is what one kind of mapping holds of a process's memory.
type share struct {
	name  string
	bytes int64
}

// measureMemory shows what an idle daemon keeps in memory, what it is made of, and what the bare one does.
func measureMemory(ctx context.Context, b *bench) (rows []row, err error) {
	d, err := b.startDaemon(ctx, "memory")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	bare, err := b.start("bare", b.path("memory.db"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bare.stop()) }()
	if err := bare.ready(); err != nil {
		return nil, err
	}
	select {
	case <-time.After(settled):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ours, err := residentShares(d.cmd.Process.Pid)
	if errors.Is(err, errors.ErrUnsupported) {
		return []row{shown("memory of an idle daemon: not measured on this system", "", "", "")}, nil
	}
	if err != nil {
		return nil, err
	}
	theirs, err := residentShares(bare.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	return memoryRows(ours, theirs), nil
}

func memoryRows(ours, bare []share) []row {
	all, least := total(ours), total(bare)
	return []row{
		{
			what: "memory of an idle daemon (resident), beside embedded server and bbolt alone",
			ours: amount(all, "MiB"), bare: amount(least, "MiB"), figure: amount(all, "MiB"),
			target: "≤ " + amount(memoryBound, "MiB"), met: all <= memoryBound,
		},
		shown("which is made of", list(ours), list(bare), times(all/least)),
	}
}

func total(shares []share) (sum float64) {
	for _, s := range shares {
		sum += float64(s.bytes) / mib
	}
	return sum
}

// list names the shares, largest first.
func list(shares []share) string {
	sorted := slices.SortedFunc(slices.Values(shares), func(a, b share) int { return int(b.bytes - a.bytes) })
	var parts []string
	for _, s := range sorted {
		parts = append(parts, fmt.Sprintf("%s %.1f", s.name, float64(s.bytes)/mib))
	}
	return strings.Join(parts, ", ")
}
