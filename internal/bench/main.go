// Command bench measures what SCV costs, each figure as a ratio to a bare program that does the least
// that could be done instead. Both sides run in turns in one run, so that a slow machine slows both; what
// is printed is the ratio of their medians, with its target. `make bench` runs it, docs/performance.md
// keeps a run. Nothing imports it.
//
// The parts are the real ones: the scv binary with its daemon, the store, the transport, the loop. The
// bare programs are the folders below this one. It works in a temporary folder and leaves nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// patience bounds all the measuring. It takes about two minutes where nothing else runs.
const patience = 5 * time.Minute

func main() {
	only := flag.String("only", "", "measure only what begins with this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *only, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// measure is one group of rows.
type measure struct {
	name  string
	limit time.Duration // a bound, not an estimate
	run   func(context.Context, *bench) ([]row, error)
}

var measures = []measure{
	{"cli", 15 * time.Second, measureCLI},
	{"start", 15 * time.Second, measureStart},
	{"restart", 90 * time.Second, measureRestart},
	{"control", 20 * time.Second, measureControl},
	{"asks", 25 * time.Second, measureAsks},
	{"confirm", 30 * time.Second, measureConfirm},
	{"reconcile", 20 * time.Second, measureReconcile},
	{"memory", 10 * time.Second, measureMemory},
	{"growth", 40 * time.Second, measureGrowth},
	{"runs", 60 * time.Second, measureRuns},
}

// bench is the folder of one run and the programs built into it.
type bench struct{ base string }

func run(ctx context.Context, only string, out, progress io.Writer) (err error) {
	base, err := os.MkdirTemp("", "scv-bench-")
	if err != nil {
		return fmt.Errorf("cannot make a folder for the bench: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	b := &bench{base}
	fmt.Fprintln(progress, "building")
	for name, pkg := range map[string]string{
		"scv": "./cmd/scv", "dial": "./internal/bench/dial", "bare": "./internal/bench/bare", "echo": "./internal/bench/echo",
	} {
		if err := b.build(ctx, name, pkg, ""); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var rows []row
	for _, m := range measures {
		if !strings.HasPrefix(m.name, only) {
			continue
		}
		began := time.Now()
		some, err := m.within(ctx, b)
		if err != nil {
			return fmt.Errorf("cannot measure %s: %w", m.name, err)
		}
		fmt.Fprintf(progress, "measured %s in %.1f s\n", m.name, time.Since(began).Seconds())
		rows = append(rows, some...)
	}
	printTable(out, rows)
	return nil
}

func (m measure) within(ctx context.Context, b *bench) ([]row, error) {
	ctx, cancel := context.WithTimeout(ctx, m.limit)
	defer cancel()
	return m.run(ctx, b)
}

// path is a name in the folder of this run.
func (b *bench) path(name string) string { return filepath.Join(b.base, name) }
