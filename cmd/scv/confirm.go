package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"scv/wire"
)

// Exit codes of confirm. A script may run on only after exitYes, so everything that is not exactly a
// yes is something else.
const (
	exitYes       = 0
	exitNo        = 1 // no, and without --detailed-exitcode also expired
	exitOther     = 2 // no answer can be had: usage, no daemon, withdrawn, failed; interrupted is always this
	exitExpired   = 3 // the rest only with --detailed-exitcode
	exitWithdrawn = 4 // by anything but an interrupt of this command
	exitNotAsked  = 5
)

// confirmCmd has no subcommands: every word given to it is a question. So `scv confirm "$Q" && deploy`
// cannot succeed because of what stands in Q; even its help does not exit 0 (dispatch in cli.go).
type confirmCmd struct {
	Timeout          time.Duration `default:"30m" help:"How long to wait before silence counts as no (default ${default}, at most 4h)."`
	JSON             bool          `help:"Print the outcome as ConfirmInfo."`
	DetailedExitcode bool          `help:"Exit 0 yes, 1 no, 3 expired, 4 withdrawn, 5 failed, 2 other, an interrupt too."`
	For              *string       `placeholder:"FILE" help:"A file or a git commit that the answer is about: its hash is in the question, and a yes counts only if it is still the same."`
	Receipt          *string       `placeholder:"FILE" help:"Where to keep who answered, where and when, and the exact text shown. It must not be there yet."`
	Question         literal       `arg:"" help:"The question, in quotes."`
}

func (*confirmCmd) Help() string {
	return "Exit code: 0 yes and nothing else, 1 no or no answer in time, 2 anything else, this help too. " +
		"A question that starts with a dash goes after --. The open questions: scv questions."
}

func (*confirmCmd) example() string { return `scv confirm "Deploy now?"` }
func (*confirmCmd) stray() string   { return "put the question in quotes" }

// meant is what somebody wanted who takes confirm for a command with subcommands.
func (*confirmCmd) meant(args []string) string {
	args = slices.DeleteFunc(afterHome(slices.Clone(args)), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if len(args) > 1 && args[1] == "show" {
		return "scv questions show ID"
	}
	return ""
}

func (c *confirmCmd) Run(a *app) error {
	info, err := c.ask(a)
	if err == nil || info.State != wire.Yes { // a yes that came too late for us is not printed as one
		printed := c.print(a, info)
		if err == nil && printed != nil {
			a.takeBack(info, string(c.Question), "the answer could not be told to who asked")
		}
		err = errors.Join(err, printed)
	}
	if err != nil {
		return unanswered(err)
	}
	return ended(c.exitCode(info.State))
}

// ask asks the question and does all that must be done before its answer counts. The info it returns with
// an error is the last known, and then even a yes is none.
func (c *confirmCmd) ask(a *app) (wire.ConfirmInfo, error) {
	ask, err := c.request(a.getenv("SCV_PARENT"))
	if err != nil {
		return wire.ConfirmInfo{}, err
	}
	about, err := a.bind(c.For)
	if err == nil {
		err = receiptRoom(c.Receipt)
	}
	if err != nil {
		return wire.ConfirmInfo{}, err
	}
	words, tail := about.words()
	if words != "" {
		ask.Question = strings.TrimSpace(ask.Question) + words
	}
	if c.Timeout > longestConfirm {
		a.note("--timeout %s is more than can be waited; this question waits %s", plainSpan(c.Timeout), plainSpan(longestConfirm))
	}
	info, err := a.follow(ask, c.Timeout, tail)
	why := noLongerWaits
	if err == nil {
		why, err = c.settle(a, about, info)
	}
	if err == nil && a.interrupted() {
		why, err = noLongerWaits, errInterrupted
	}
	if err != nil {
		a.takeBack(info, string(c.Question), why)
	}
	return info, err
}

// settle does what must be done before an answer counts, or says why a yes is none.
func (c *confirmCmd) settle(a *app, about bound, info wire.ConfirmInfo) (why string, err error) {
	if info.State == wire.Yes {
		if err := about.still(a); err != nil {
			return "the " + about.kind + " " + about.name + " is not what it was any more", err
		}
	}
	if c.Receipt != nil && (info.State == wire.Yes || info.State == wire.No) {
		return "its receipt could not be kept", a.keepReceipt(*c.Receipt, info.ID)
	}
	return "", nil
}

// longestConfirm is as long as the daemon lets a question wait.
const longestConfirm = wire.MaxConfirmSeconds * time.Second

// request makes the request. Whether the question is fit to ask is for the daemon to say.
func (c *confirmCmd) request(parent string) (wire.ConfirmAskCommand, error) {
	ask := wire.ConfirmAskCommand{Question: string(c.Question)}
	if strings.TrimSpace(ask.Question) == "" {
		return ask, failf(exitOther, "try: "+c.example(), "the question is empty")
	}
	if !utf8.ValidString(ask.Question) {
		return ask, failf(exitOther, notText, "the question is not UTF-8 text, so it was not asked")
	}
	if c.Timeout <= 0 {
		return ask, failf(exitOther, `try: scv confirm --timeout 30m "Deploy now?"`, "--timeout must be longer than nothing")
	}
	seconds := uint64(math.Ceil(c.Timeout.Seconds()))
	ask.TimeoutSeconds = &seconds
	if parent != "" {
		ask.Parent = &parent
	}
	return ask, nil
}

// print writes the outcome where the state is known; without one stdout stays empty.
func (c *confirmCmd) print(a *app, info wire.ConfirmInfo) error {
	switch {
	case info.ID == "" || info.State == wire.Pending:
		return nil
	case c.JSON:
		return a.printJSON(info)
	}
	_, err := fmt.Fprintln(a.stdout, line(string(info.State)))
	return err
}

func (c *confirmCmd) exitCode(s wire.ConfirmState) int {
	detailed := func(code, plain int) int {
		if c.DetailedExitcode {
			return code
		}
		return plain
	}
	switch s {
	case wire.Yes:
		return exitYes
	case wire.No:
		return exitNo
	case wire.Expired:
		return detailed(exitExpired, exitNo)
	case wire.Withdrawn:
		return detailed(exitWithdrawn, exitOther)
	case wire.NotAsked:
		return detailed(exitNotAsked, exitOther)
	case wire.Pending, wire.Unknown:
		return exitOther
	}
	return exitOther
}

// unanswered keeps the words of a failure and makes its exit code the one of confirm.
func unanswered(err error) error {
	told := &failure{code: exitOther, err: err}
	var f *failure
	if errors.As(err, &f) {
		told.hint = f.hint
	}
	return told
}
