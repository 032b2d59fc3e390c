package main

import (
	"context"
	"os"

	"scv/daemon/restart"
)

// boot is the first act of the program. Where a restart is under way it may become another one here.
func boot() *restart.Start {
	return restart.Boot(restart.World{Args: os.Args, Environ: os.Environ(), Build: thisRelease(), Stderr: os.Stderr})
}

func thisRelease() restart.Release {
	b := thisBuild()
	return restart.Release{Version: b.Version, Commit: b.Commit, Schema: b.Schema}
}

type bootKey struct{}

// booted is what only the real process has.
type booted struct {
	signals *signals
	start   *restart.Start
}

func withBoot(ctx context.Context, s *signals, start *restart.Start) context.Context {
	return context.WithValue(ctx, bootKey{}, booted{s, start})
}

// interrupted reports whether a signal has come, or whoever called has given the call up, by now.
func (a *app) interrupted() bool {
	if b, real := bootOf(a.ctx); real && b.signals.Noticed() {
		return true
	}
	return a.ctx.Err() != nil
}

// bootOf is that, false in a test that calls the program in its own process.
func bootOf(ctx context.Context) (booted, bool) {
	b, real := ctx.Value(bootKey{}).(booted)
	return b, real
}
