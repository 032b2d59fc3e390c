package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// usage turns kong's complaint into ours: exit 2, a plain sentence and the command to try. A verb may say
// how it is meant by an example, and what to make of a word too many.
func usage(err error) error {
	try, told := "scv --help", plainly(strings.ReplaceAll(err.Error(), seal, ""))
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			try = node.FullPath() + " --help"
			verb := node.Target.Addr().Interface()
			if group := node.Parent; group.DefaultCmd == node && strings.HasPrefix(told, strayWord) && !slices.Contains(parse.Context.Args, node.Name) {
				told, try = wordOf(group, told), group.FullPath()+" --help"
			}
			if v, ok := verb.(interface{ example() string }); ok {
				try = v.example()
			}
			if v, ok := verb.(interface{ stray() string }); ok && strings.HasPrefix(told, strayWord) {
				told += ": " + v.stray()
			}
			if v, ok := verb.(interface{ meant([]string) string }); ok && strings.HasPrefix(told, strayWord) {
				try = cmp.Or(v.meant(parse.Context.Args), try)
			}
		}
	}
	return failf(exitUsage, "try: "+try, "%s", told)
}

// wordOf adds which command of a group a stray word may have been meant for. kong, which takes it for an argument
// of the one that the group has without a word, guesses nothing.
func wordOf(group *kong.Node, told string) string {
	var words strings.Builder
	for _, command := range group.Children {
		fmt.Fprintf(&words, "%q, ", command.Name)
	}
	return nearly(told + guesses + words.String() + guessesEnd)
}

// strayWord is how kong begins to speak of a word for which a command has no place.
const strayWord = "unexpected argument "

// wordings are the complaints of kong and of Go's own parsers that a person could not read, and ours.
var wordings = [][2]string{
	{`^(\S+): expected \S+ value but got ("-\d[^"]*").*$`, `$1 cannot be less than nothing: $2`},
	{`^(\S+): expected \S+ value but got .*$`, `$1 needs a value`},
	{`^(\S+): expected duration but got ("[^"]*").*$`, `$1 is a time with its unit, as 90s, 30m or 4h; it cannot be $2`},
	{`^(\S+): expected a valid .* int but got ("[^"]*").*$`, `$1 is a whole number; it cannot be $2`},
	{`^(\S+): expected a valid .* uint but got ("[^"]*").*$`, `$1 is a whole number, 0 or more; it cannot be $2`},
	{`^(\S+): slog: level string ("[^"]*").*$`, `$1 is debug, info, warn or error; it cannot be $2`},
	{`^(\S+): bool value must be .* but got ("[^"]*").*$`, `$1 is true or false; it cannot be $2`},
	{`^(unknown flag -\w), did you mean .*$`, `$1`}, // one letter is like any other
}

func plainly(theirs string) string {
	for _, w := range wordings {
		if complaint := regexp.MustCompile(w[0]); complaint.MatchString(theirs) {
			return complaint.ReplaceAllString(theirs, w[1])
		}
	}
	return nearly(theirs)
}
