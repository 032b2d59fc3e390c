package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// commands is the command line: a field per verb, in the order of the help.
type commands struct {
	Home string `placeholder:"DIR" help:"Folder of this SCV (default: $$SCV_HOME, else ~/.scv)."`

	Run         runCmd         `cmd:"" help:"Run the daemon in the foreground."`
	Status      statusCmd      `cmd:"" help:"Show how the daemon and its channels are."`
	Reload      reloadCmd      `cmd:"" help:"Reread the configuration and apply it now."`
	Chat        chatCmd        `cmd:"" help:"Talk to your agent here."`
	Confirm     confirmCmds    `cmd:"" help:"Ask the owner a yes/no question in chat."`
	Channels    channelsCmds   `cmd:"" help:"List and change the chat accounts."`
	Agents      agentsCmd      `cmd:"" help:"Show which agents can be used here."`
	Delegations delegationCmds `cmd:"" help:"List and stop delegated agent runs."`
	Ps          delegationList `cmd:"" help:"Same as delegations."`
	Kill        delegationKill `cmd:"" help:"Same as delegations kill."`
	Store       storeCmds      `cmd:"" help:"Look into the store."`
	Version     versionCmd     `cmd:"" help:"Show the version of this scv."`
	BuildInfo   buildInfoCmd   `cmd:"" hidden:"" help:"Describe this build as JSON."`
}

// run is the whole program with the world as arguments, so that tests can call it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	out := &stickyWriter{w: stdout}
	a := &app{
		ctx: ctx, stdin: stdin, stdout: out, stderr: stderr, getenv: getenv, now: time.Now,
		typed: isTerminal(stdin), watched: isTerminal(stderr), colour: isTerminal(stdout) && coloured(getenv),
		pace: pace{keepAlive: keepAlive, catchUp: catchUp},
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
	var cmds commands
	helped := false
	parser, err := kong.New(&cmds, kong.Name("scv"),
		kong.Description("SCV keeps your chat accounts running and hands your messages to your coding agents."),
		kong.Writers(a.stdout, a.stderr), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Exit(func(int) { helped = true })) // kong's only exit is the one after --help
	if err != nil {
		return fmt.Errorf("cannot build the command line: %w", err)
	}
	verb, err := parser.Parse(sealLiterals(args))
	switch {
	case helped:
		return nil
	case err != nil:
		return usage(err)
	}
	a.homeFlag = cmds.Home
	return verb.Run(a)
}

// usage turns kong's complaint into ours: exit 2 and the command to try.
func usage(err error) error {
	try := "scv --help"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			try = node.FullPath() + " --help"
			if verb, ok := node.Target.Addr().Interface().(interface{ example() string }); ok {
				try = verb.example()
			}
		}
	}
	return failf(exitUsage, "try: "+try, "%s", strings.ReplaceAll(err.Error(), seal, ""))
}

// seal marks the arguments after "--". kong would still take one for the name of a subcommand, so that
// the question of `scv confirm -- list` would be lost and the exit code 0. No argument can hold a NUL.
const seal = "\x00"

func sealLiterals(args []string) []string {
	sealed := make([]string, 0, len(args))
	literal := false
	for _, arg := range args {
		if literal {
			arg = seal + arg
		}
		sealed = append(sealed, arg)
		literal = literal || arg == "--"
	}
	return sealed
}

// literal is a positional argument, with the seal broken.
type literal string

// Decode implements kong's MapperValue.
func (l *literal) Decode(ctx *kong.DecodeContext) error {
	var word string
	if err := ctx.Scan.PopValueInto("text", &word); err != nil {
		return err
	}
	*l = literal(strings.TrimPrefix(word, seal))
	return nil
}
