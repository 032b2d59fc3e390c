package main

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// commands is the command line: a field per verb, in the order of the help.
type commands struct {
	Home string `placeholder:"DIR" help:"Folder of this SCV (default: $$SCV_HOME, else ~/.scv)."`

	Run         runCmd         `cmd:"" help:"Run the daemon in the foreground."`
	Status      statusCmd      `cmd:"" help:"Show how the daemon and its channels are."`
	Logs        logsCmd        `cmd:"" help:"Show what the daemon logged."`
	Doctor      doctorCmd      `cmd:"" help:"Look for what is wrong here, and say what to do."`
	Reload      reloadCmd      `cmd:"" help:"Reread the configuration and apply it now."`
	Chat        chatCmd        `cmd:"" help:"Talk to your agent here."`
	Confirm     confirmCmd     `cmd:"" help:"Ask the owner a yes/no question in chat."`
	Questions   questionsCmds  `cmd:"" help:"List the questions of scv confirm."`
	Channels    channelsCmds   `cmd:"" help:"List and change the chat accounts."`
	Agents      agentsCmd      `cmd:"" help:"Show which agents can be used here."`
	Delegations delegationCmds `cmd:"" help:"List and stop delegated agent runs."`
	Ps          delegationList `cmd:"" help:"Same as delegations."`
	Kill        delegationKill `cmd:"" help:"Same as delegations kill."`
	Store       storeCmds      `cmd:"" help:"Look into the store."`
	Completion  completionCmd  `cmd:"" help:"Print what makes a shell complete scv's words."`
	Version     versionCmd     `cmd:"" help:"Show the version of this scv, as does scv --version."`
	Help        helpCmd        `cmd:"" help:"Show how a command is used, as does --help after it."`
	BuildInfo   buildInfoCmd   `cmd:"" hidden:"" help:"Describe this build as JSON."`
}

// run is the whole program with the world as arguments, so that tests can call it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	out := &stickyWriter{w: stdout}
	a := &app{
		ctx: ctx, stdin: stdin, stdout: out, stderr: stderr, getenv: getenv, now: time.Now,
		typed: isTerminal(stdin), watched: isTerminal(stderr), colour: isTerminal(stdout) && coloured(getenv),
		screen: isTerminal(stdout) && getenv("TERM") != "dumb",
		pace:   pace{keepAlive: keepAlive, catchUp: catchUp, watch: time.Second},
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
	var cmds commands
	var help helped
	parser, err := newParser(&cmds, a.stdout, a.stderr, &help)
	if err != nil {
		return fmt.Errorf("cannot build the command line: %w", err)
	}
	verb, err := parser.Parse(sealLiterals(args))
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

// newParser is the command line as kong sees it: what is parsed, completed and printed comes from it.
func newParser(cmds *commands, stdout, stderr io.Writer, help *helped) (*kong.Kong, error) {
	return kong.New(cmds, kong.Name("scv"),
		kong.Description("SCV keeps your chat accounts running and hands your messages to your coding agents."),
		kong.Writers(stdout, stderr), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Help(help.print), kong.Exit(func(int) {}), // kong's only exit is the one after --help
		kong.KindMapper(reflect.String, kong.MapperFunc(exactly)))
}

// helped remembers whether help was shown, and of what.
type helped struct {
	shown bool
	verb  *kong.Node // nil for the help of scv itself
}

func (h *helped) print(options kong.HelpOptions, ctx *kong.Context) error {
	h.shown, h.verb = true, ctx.Selected()
	return kong.DefaultHelpPrinter(options, ctx)
}

// about reports whether the help was that of one verb.
func (h *helped) about(verb any) bool {
	return h.verb != nil && h.verb.Target.Addr().Interface() == verb
}

// seal marks the arguments after "--". kong would still take one for the name of a subcommand where a
// command has some: what a person wrote there must never become another command. No argument can hold a NUL.
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
	word, err := ctx.Scan.PopValue("text")
	if err != nil {
		return err
	}
	*l = literal(strings.TrimPrefix(word.String(), seal))
	return nil
}

// exactly takes a flag's word as it was given. kong would put U+FFFD in the place of bytes that are not
// UTF-8: another question, or another folder, than the person named.
func exactly(ctx *kong.DecodeContext, target reflect.Value) error {
	word, err := ctx.Scan.PopValue("string")
	if err != nil {
		return err
	}
	target.SetString(word.String())
	return nil
}
