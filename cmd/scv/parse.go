package main

import (
	"io"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// globals are the flags that go with every command.
type globals struct {
	Home string `placeholder:"DIR" help:"Folder of this SCV (default: $$SCV_HOME, else ~/.scv)."`
}

// newParser is the command line as kong sees it: what is parsed, completed and printed comes from it.
func newParser(cmds *commands, stdout, stderr io.Writer, help *helped) (*kong.Kong, error) {
	return kong.New(cmds, append(kongOptions(stdout, stderr), kong.Help(help.print))...)
}

func kongOptions(stdout, stderr io.Writer) []kong.Option {
	return []kong.Option{
		kong.Name("scv"),
		kong.Description("SCV keeps your chat accounts running and hands your messages to your coding agents."),
		kong.Writers(stdout, stderr), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Exit(func(int) {}), // kong's only exit is the one after --help
		kong.KindMapper(reflect.String, kong.MapperFunc(exactly)),
	}
}

// parseAlone parses a command line by the one verb it names, and is false for whatever else it may be: a
// mistake, a call for help. The model of all verbs gives the same answer, and making it took a quarter of
// the time of a short command.
func parseAlone(args []string, stdout, stderr io.Writer) (home string, verb *kong.Context, ok bool) {
	var given globals
	var cmds commands
	name, target := cmds.named(args)
	if target == nil {
		return "", nil, false
	}
	parser, err := kong.New(&given, append(kongOptions(stdout, stderr),
		kong.NoDefaultHelp(), kong.DynamicCommand(name, "", "", target))...)
	if err != nil {
		return "", nil, false
	}
	if verb, err = parser.Parse(args); err != nil {
		return "", nil, false
	}
	return given.Home, verb, true
}

// failsClosed reports whether a command line asks the owner and ends: then a signal must not be what ends it,
// since an agent goes on after a hook that was killed, and exit code 2 is what a script is promised.
func failsClosed(args []string) bool {
	args = afterHome(args)
	return len(args) > 0 && (args[0] == "confirm" || args[0] == "hook")
}

// afterHome is a command line from its verb on, if a home at most stands before it.
func afterHome(args []string) []string {
	switch {
	case len(args) > 2 && args[0] == "--home":
		return args[2:]
	case len(args) > 1 && strings.HasPrefix(args[0], "--home="):
		return args[1:]
	}
	return args
}

// named is the verb that stands first on a command line, after a home at most; nil if none does.
func (c *commands) named(args []string) (name string, target any) {
	name = afterHome(args)[0]
	if name == "" || name != strings.ToLower(name) {
		return "", nil
	}
	// A name with a dash is not found so, nor needs to be.
	field := reflect.ValueOf(c).Elem().FieldByName(strings.ToUpper(name[:1]) + name[1:])
	if !field.IsValid() || field.Kind() != reflect.Struct {
		return "", nil
	}
	return name, field.Addr().Interface()
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
