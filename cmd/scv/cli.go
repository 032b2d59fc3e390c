package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// commands is the command line: a field per verb, in the order of the help.
type commands struct {
	globals

	Run         runCmd         `cmd:"" help:"Run the daemon in the foreground."`
	Start       startCmd       `cmd:"" help:"Have the daemon kept running by systemd or launchd."`
	Stop        stopCmd        `cmd:"" help:"Stop the daemon."`
	Status      statusCmd      `cmd:"" help:"Show how the daemon and its channels are."`
	Restart     restartCmd     `cmd:"" help:"Restart the daemon, or go over to a newly installed release."`
	Logs        logsCmd        `cmd:"" help:"Show what the daemon logged."`
	Doctor      doctorCmd      `cmd:"" help:"Look for what is wrong here, and say what to do."`
	Reload      reloadCmd      `cmd:"" help:"Reread the configuration and apply it now."`
	Chat        chatCmd        `cmd:"" help:"Talk to your agent here."`
	Confirm     confirmCmd     `cmd:"" help:"Ask the owner a yes/no question in chat."`
	Questions   questionsCmds  `cmd:"" help:"List the questions of scv confirm."`
	Notify      notifyCmd      `cmd:"" help:"Tell the owner something in chat."`
	Channels    channelsCmds   `cmd:"" help:"List and change the chat accounts."`
	Agents      agentsCmd      `cmd:"" help:"Show which agents can be used here."`
	Delegate    delegateCmd    `cmd:"" help:"Give a task to an agent, on record and under control."`
	Delegations delegationCmds `cmd:"" help:"List and stop delegated agent runs."`
	Ps          delegationList `cmd:"" help:"Same as delegations."`
	Kill        delegationKill `cmd:"" help:"Same as delegations kill."`
	Store       storeCmds      `cmd:"" help:"Look into the store."`
	MCP         mcpCmd         `cmd:"" name:"mcp" help:"Serve the Model Context Protocol to an agent."`
	Hook        hookCmds       `cmd:"" help:"Answer the hooks of coding agents."`
	Completion  completionCmd  `cmd:"" help:"Print what makes a shell complete scv's words."`
	Version     versionCmd     `cmd:"" help:"Show the version of this scv, as does scv --version."`
	Help        helpCmd        `cmd:"" help:"Show how a command is used, as does --help after it."`
	BuildInfo   buildInfoCmd   `cmd:"" hidden:"" help:"Describe this build as JSON."`
	Agent       agentCmd       `cmd:"" hidden:"" help:"Be an agent: speak the Agent Client Protocol for the local chat."`
	Guard       guardCmd       `cmd:"" hidden:"" help:"Watch over a restart."`
	Preflight   preflightCmd   `cmd:"" hidden:"" help:"Try this release on a copy of a home."`
}

// run is the whole program with the world as arguments, so that tests can call it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	out := &stickyWriter{w: stdout}
	a := &app{
		ctx: ctx, stdin: stdin, stdout: out, stderr: stderr, getenv: getenv, now: time.Now,
		typed: isTerminal(stdin), watched: isTerminal(stderr), colour: isTerminal(stdout) && coloured(getenv),
		screen: isTerminal(stdout) && getenv("TERM") != "dumb",
		pace:   pace{keepAlive: keepAlive, catchUp: catchUp, watch: time.Second, progress: progressEvery},
	}
	code := report(stderr, dispatch(a, args))
	if out.err != nil && code == exitOK {
		return report(stderr, failf(exitFailed, "", "cannot write the output: %w", out.err))
	}
	return code
}

// dispatch parses the command line and runs its verb.
func dispatch(a *app, args []string) error {
	if len(args) == 0 {
		return failf(exitUsage, "try: scv --help", "no command given")
	}
	if len(args) == 1 && args[0] == "--version" { // alone: after confirm it is part of a question
		return new(versionCmd).Run(a)
	}
	args = sealLiterals(args)
	if home, verb, ok := parseAlone(args, a.stdout, a.stderr); ok {
		a.homeFlag = home
		return verb.Run(a)
	}
	var cmds commands
	var help helped
	parser, err := newParser(&cmds, a.stdout, a.stderr, &help)
	if err != nil {
		return fmt.Errorf("cannot build the command line: %w", err)
	}
	verb, err := parser.Parse(args)
	switch {
	case help.about(&cmds.Confirm):
		return ended(exitOther) // a question that is "--help" is no yes either
	case help.shown:
		return nil
	case err != nil:
		return usage(err)
	}
	a.homeFlag = cmds.Home
	return verb.Run(a)
}
