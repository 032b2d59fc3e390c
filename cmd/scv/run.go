package main

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"scv/daemon"
	"scv/daemon/restart"
)

type runCmd struct {
	Nested   bool        `help:"Start inside an agent's run, where it is refused otherwise."`
	Fresh    bool        `help:"Begin with a new store if the old one is lost or damaged. A damaged one is kept beside it."`
	LogLevel *slog.Level `placeholder:"debug|info|warn|error" help:"Least level that is logged (default: [log] level of config.toml, else info)."`
}

func (*runCmd) Help() string {
	return "It serves until SIGTERM or Ctrl-C and then exits 0. The log goes to stderr (lines for people on a terminal, " +
		"JSON elsewhere) and into the home, where scv logs shows it."
}

// Run starts the daemon. Inside an agent's run (SCV_PARENT) that is refused: a nested SCV answers to
// nobody's chat. With --nested it takes over the tag and the depth, so that it stays inside.
func (c *runCmd) Run(a *app) error {
	if a.getenv("SCV_PARENT") != "" && !c.Nested {
		return failf(exitFailed, "if it is meant: scv run --nested --home DIR",
			"this shell belongs to an agent that SCV started, and a second daemon in it is refused")
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the program itself: %w", err)
	}
	signal.Ignore(syscall.SIGPIPE) // a reader of the log that goes away is no signal to end
	log := newStderrLog(a.stderr)
	defer log.close()
	level, setting := c.level()
	o := daemon.Options{
		Home: home, Version: thisBuild().Version, Log: newLog(log, a.stderr, a.getenv, level), Level: setting,
		Getenv: a.getenv, Environ: restart.Without(os.Environ()), Ready: a.sayReady,
		Program: program, Fresh: c.Fresh,
	}
	if b, real := bootOf(a.ctx); real {
		defer b.signals.holdOut(func() {
			a.note("scv: stopping its agents first; once more ends it at once and may leave some running")
		})()
		if err := restartable(&o, b); err != nil {
			return err
		}
	}
	return daemon.Run(a.ctx, o)
}

// restartable lets the daemon go over to another release.
func restartable(o *daemon.Options, b booted) error {
	release := thisRelease()
	o.Args, o.Commit, o.Schema, o.Stderr = os.Args, release.Commit, release.Schema, os.Stderr
	o.Start, o.Signals = b.start, b.signals
	if b.start.Home != "" { // the one we hold: its name may lead elsewhere by now
		o.Home = b.start.Home
	}
	if o.Start.Binary == "" {
		own, err := restart.OwnPath(os.Args[0], o.Getenv("PATH"))
		if err != nil {
			return err
		}
		o.Start.Binary = own
	}
	o.Link, _ = os.Readlink(o.Start.Binary) // mostly it is no link
	return nil
}

// level is the least level that is logged, and what the daemon may change it by: nothing if it was given.
func (c *runCmd) level() (level slog.Leveler, setting *slog.LevelVar) {
	if c.LogLevel != nil {
		return c.LogLevel, nil
	}
	setting = new(slog.LevelVar)
	return setting, setting
}

// sayReady greets a person who watches; a service manager reads the log.
func (a *app) sayReady(home, _ string) {
	if a.watched {
		a.note("scv %s serves %s. In another terminal: %s", thisBuild().Version, line(home), a.command("chat"))
	}
}
