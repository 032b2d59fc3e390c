package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"scv/wire"
	"scv/wire/bus"
)

// localAccount is the account of the local channel: the daemon makes one, with this name.
const localAccount = "default"

type chatCmd struct {
	Send    *string       `placeholder:"TEXT" help:"Send one message, print the answer to it, and exit."`
	Timeout time.Duration `default:"4h10m" help:"How long to wait for an answer (default ${default})."`
}

func (chatCmd) Help() string {
	return "On a terminal it shows the open questions and whatever is said until Ctrl-D. What is pasted is one message, " +
		"also where it has several lines. On a pipe each line is a message, and the next is sent once it is answered. " +
		"Exit code 1 if an answer failed or took too long."
}

func (chatCmd) stray() string { return `a message goes with --send, as in: scv chat --send "hello"` }

// Run talks to the local channel. The default timeout is a little more than the longest turn of the
// owner (config.toml, [turns] owner).
func (c *chatCmd) Run(a *app) error {
	switch {
	case c.Timeout <= 0:
		return failf(exitUsage, "try: scv chat --timeout 5m", "--timeout must be longer than nothing")
	case c.Send != nil && strings.TrimSpace(*c.Send) == "":
		return failf(exitUsage, `try: scv chat --send "hello"`, "the message is empty")
	case c.Send != nil && !utf8.ValidString(*c.Send):
		return failf(exitUsage, notText, "the message is not UTF-8 text, so it was not sent")
	case c.Send != nil:
		return a.sendOne(*c.Send, c.Timeout)
	}
	// That nobody is there to hear is told before anything is typed, and where nothing will be.
	if err := a.call(readLimit, func(context.Context, *bus.Client) error { return nil }); err != nil {
		return err
	}
	if a.typed {
		return a.converse()
	}
	return a.sendLines(c.Timeout)
}

// sendLines sends each line of stdin once the one before it is answered.
func (a *app) sendLines(timeout time.Duration) error {
	lines := a.inputLines()
	failed := false
	for {
		more, err := awaited(a.ctx, func() (bool, error) { return lines.Scan(), nil })
		if err != nil {
			return err
		}
		if !more {
			break
		}
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		err = a.sendOne(text, timeout)
		var quiet ended
		switch {
		case errors.As(err, &quiet):
			failed = true // it was told; the next line may fare better
		case err != nil:
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("cannot read the messages: %w", readable(err))
	}
	if failed {
		return ended(exitFailed)
	}
	return nil
}

// inputLines reads stdin by lines, up to what one message may be.
func (a *app) inputLines() *bufio.Scanner {
	lines := bufio.NewScanner(a.stdin)
	lines.Buffer(nil, wire.MaxChatText+2) // and its line end
	return lines
}

// readable is why no more lines can be read, in words.
func readable(err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("a line is longer than a message may be, %d bytes", wire.MaxChatText)
	}
	return err
}
