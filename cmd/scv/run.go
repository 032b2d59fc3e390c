package main

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"scv/daemon"
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
	defer holdOut(a)()
	log := newStderrLog(a.stderr)
	defer log.close()
	level, setting := c.level()
	return daemon.Run(a.ctx, daemon.Options{
		Home: home, Version: thisBuild().Version, Log: newLog(log, a.stderr, a.getenv, level), Level: setting,
		Getenv: a.getenv, Environ: os.Environ(), Ready: a.sayReady,
		Program: program, Fresh: c.Fresh,
	})
}

// holdOut keeps signals from ending the daemon before it has stopped its agents. The first asks for the
// stop, which takes 8 s at most; an impatient second changes nothing; a third ends the process at
// once. A reader of the log that goes away is no signal to end. What it returns undoes it.
func holdOut(a *app) (undo func()) {
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, endings()...)
	over := make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		for n := 1; n <= 2; n++ {
			select {
			case <-over:
				return
			case <-signals:
			}
		}
		a.note("scv: stopping its agents first; once more ends it at once and may leave some running")
	}()
	return func() { close(over) }
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
