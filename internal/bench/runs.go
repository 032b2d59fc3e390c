package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"scv/daemon/agent"
	"scv/daemon/delegation"
	"scv/daemon/process"
	"scv/internal/clock"
	"scv/store"
)

const (
	manyRuns     = 1000
	processesOf  = 3 // in each of them
	startsAtOnce = 8
	killsAtOnce  = 64
	killLimit    = 30 * time.Second
)

// measureRuns compares a look at a thousand runs with a bare reading of every environment, and the start of a
// recorded run with a bare process and two synced writes.
func measureRuns(ctx context.Context, b *bench) (rows []row, err error) {
	if err := process.BecomeSubreaper(); err != nil {
		return nil, err
	}
	procs := process.NewTable()
	started, err := b.measureStarts(ctx, procs)
	if err != nil {
		return nil, err
	}
	looked, err := b.measureLooks(ctx, procs)
	return append(looked, started...), err
}

// keeper makes a keeper of runs as the daemon does; no pass is made but those that are measured.
func (b *bench) keeper(ctx context.Context, procs *process.Table, name string, unsafe bool) (*delegation.Keeper, func() error, error) {
	s, err := openStore(ctx, b.path(name+".db"), clock.System{}, unsafe)
	if err != nil {
		return nil, nil, err
	}
	self, err := process.Self()
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	cgroups, err := process.FindCgroups()
	if err != nil {
		cgroups = "" // as a daemon goes on
	}
	k := delegation.New(delegation.Options{
		Store: s, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Procs: procs, Cgroups: cgroups, Self: self,
		Instance: rand.Text(), Home: b.path(name), MaxDepth: 1,
	})
	return k, s.Close, nil
}

// begin starts a run of a program.
func begin(ctx context.Context, k *delegation.Keeper, b *bench, handle, path string, args ...string) (*delegation.Run, error) {
	about, err := k.Place(store.Delegation{Agent: "bench", Session: "bench"}, "")
	if err != nil {
		return nil, err
	}
	run := agent.Run{Path: path, Args: args, Dir: b.base, Env: []string{"PATH=" + os.Getenv("PATH")}}
	for name, value := range k.Environment(handle, about) {
		run.Env = append(run.Env, name+"="+value)
	}
	return k.Start(ctx, handle, about, run)
}

func handleOf(n int) string { return fmt.Sprintf("bench-%06x", n) }

func (b *bench) measureStarts(ctx context.Context, procs *process.Table) (rows []row, err error) {
	k, end, err := b.keeper(ctx, procs, "starts", false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	file, err := os.Create(b.path("synced"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	program, err := exec.LookPath("true")
	if err != nil {
		return nil, err
	}
	n := 0
	recorded := func(until func(*delegation.Run) <-chan struct{}) sample {
		return func(ctx context.Context) (float64, error) {
			n++
			began := time.Now()
			r, err := begin(ctx, k, b, handleOf(n), program)
			if err != nil {
				return 0, err
			}
			<-until(r)
			took := milliseconds(time.Since(began))
			<-r.Done()
			return took, k.Reported(ctx, handleOf(n))
		}
	}
	bare := func(context.Context) (float64, error) {
		began := time.Now()
		err := errors.Join(syncedWrite(file), exec.Command(program).Run(), syncedWrite(file))
		return milliseconds(time.Since(began)), err
	}
	m, err := inTurns(ctx, 60, recorded((*delegation.Run).Exited), bare, recorded((*delegation.Run).Done))
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("a recorded run from its start to its exit (record, spawn, leader on record, exit), against a bare process and two synced writes", m[0], m[1], m[0]/m[1], 1.5, "ms"),
		shown("the same until it is proven that nothing of it is left, and its end is on record", amount(m[2], "ms"), amount(m[1], "ms"), times(m[2]/m[1])),
	}, nil
}

// syncedWrite appends about as much as a record is long.
func syncedWrite(f *os.File) error {
	if _, err := f.Write(make([]byte, 400)); err != nil {
		return err
	}
	return f.Sync()
}

func (b *bench) measureLooks(ctx context.Context, procs *process.Table) (rows []row, err error) {
	k, end, err := b.keeper(ctx, procs, "looks", true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	defer func() { err = errors.Join(err, killAll(k)) }()
	err = forAll(startsAtOnce, func(i int) error {
		_, err := begin(ctx, k, b, handleOf(i), "/bin/sh", "-c", "sleep 600 & sleep 600 & wait")
		return err
	})
	if err != nil {
		return nil, err
	}
	ours := func(context.Context) (float64, error) {
		began := time.Now()
		s, err := k.List(false)
		took := milliseconds(time.Since(began))
		processes := 0
		for _, e := range s.Entries {
			processes += int(e.Processes)
		}
		if err == nil && (len(s.Entries) != manyRuns || processes != manyRuns*processesOf) {
			err = fmt.Errorf("listed %d runs with %d processes", len(s.Entries), processes)
		}
		return took, err
	}
	if err := eventually(ctx, ours); err != nil { // all shells have started their sleeps
		return nil, err
	}
	m, err := inTurns(ctx, 15, ours, readEnvirons)
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("a listing of 1,000 runs with 3 processes each, against a bare reading of every environment in /proc", m[0], m[1], m[0]/m[1], 2, "ms"),
	}, nil
}

func eventually(ctx context.Context, side sample) error {
	for {
		_, err := side(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// forAll does something for each of the many runs, some at a time. It returns the first error.
func forAll(atOnce int, act func(int) error) error {
	errs := make([]error, atOnce)
	var all sync.WaitGroup
	for worker := range atOnce {
		all.Go(func() {
			for i := worker; i < manyRuns; i += atOnce {
				if err := act(i); err != nil && errs[worker] == nil {
					errs[worker] = err
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// killAll ends the many runs.
func killAll(k *delegation.Keeper) error {
	ctx, cancel := context.WithTimeout(context.Background(), killLimit)
	defer cancel()
	return forAll(killsAtOnce, func(i int) error {
		_, known, err := k.Record(handleOf(i))
		if err != nil || !known {
			return err
		}
		return errors.Join(k.Kill(ctx, handleOf(i)), k.Reported(ctx, handleOf(i)))
	})
}

// readEnvirons reads the environment of every process, with as few system calls as can be.
func readEnvirons(context.Context) (float64, error) {
	began := time.Now()
	proc, err := os.Open("/proc")
	if err != nil {
		return 0, err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 64<<10)
	read := 0
	for _, name := range names {
		if _, err := strconv.Atoi(name); err != nil {
			continue
		}
		fd, err := syscall.Open("/proc/"+name+"/environ", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			continue // it is gone
		}
		if n, err := syscall.Read(fd, buf); err == nil && n > 0 {
			read++
		}
		_ = syscall.Close(fd)
	}
	if read < manyRuns*processesOf {
		return 0, fmt.Errorf("only %d environments could be read", read)
	}
	return milliseconds(time.Since(began)), nil
}
