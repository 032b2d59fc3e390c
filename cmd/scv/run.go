package main

import (
	"log/slog"
	"os"

	"scv/daemon"
)

type runCmd struct {
	Nested   bool       `help:"Start inside an agent's run, where it is refused otherwise."`
	LogLevel slog.Level `default:"info" placeholder:"LEVEL" help:"Least level that is logged: debug, info, warn or error (default ${default})."`
}

func (*runCmd) Help() string {
	return "It serves until SIGTERM or Ctrl-C and then exits 0. The log goes to stderr: lines for people on a terminal, JSON elsewhere."
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
	return daemon.Run(a.ctx, daemon.Options{
		Home: home, Version: thisBuild().Version, Log: newLog(a.stderr, a.getenv, c.LogLevel),
		Getenv: a.getenv, Environ: os.Environ(), Ready: a.sayReady,
	})
}

// sayReady greets a person who watches; a service manager reads the log.
func (a *app) sayReady(home, _ string) {
	if a.watched {
		a.note("scv %s serves %s. In another terminal: %s", thisBuild().Version, line(home), a.command("chat"))
	}
}
