package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	// typeAhead is how many lines may be typed while the daemon is away.
	typeAhead = 16
	// leaveLimit is how long a chat whose input has ended may take to send the last of it.
	leaveLimit = 2 * time.Second
)

// converse shows the local chat and sends what is typed, until the end of input.
func (a *app) converse() error {
	a.say("%s", paint("the local chat; Ctrl-D leaves it", dim, a.colour))
	ctx, leave := context.WithCancel(a.ctx)
	defer leave()
	speaker, read, restore := a.openTyped()
	defer restore()
	defer context.AfterFunc(ctx, restore)()
	typed, readErr := make(chan string, typeAhead), make(chan error, 1)
	// A read of a terminal cannot be interrupted: where the chat ends otherwise than by the end of
	// input, this reader ends with the process.
	go func() {
		defer restore() // also where it panics
		readErr <- read(ctx, typed)
		close(typed)
		time.AfterFunc(leaveLimit, leave)
	}()
	c := &conversation{a: speaker, typed: typed, mine: map[string]bool{}}
	err := speaker.stay(ctx, c.work)
	switch {
	case err != nil && ctx.Err() == nil:
		return a.explain(err)
	case c.unsent != nil || len(typed) > 0:
		return failf(exitFailed, "see what arrived: "+a.command("chat"), "what was typed last may not have been sent")
	case c.over:
		return <-readErr
	}
	return nil // left by a signal, as people leave a chat
}

// openTyped makes the person's terminal ready: how its lines are read, the app that speaks on it from now
// on, and how it is put back.
func (a *app) openTyped() (*app, func(context.Context, chan<- string) error, func()) {
	keys, ok := a.stdin.(*os.File)
	if !ok || !a.screen {
		return a, a.readPlain, func() {}
	}
	e, restore, err := a.openEditor(keys)
	if err != nil { // it still is a terminal that can be read by lines
		return a, a.readPlain, func() {}
	}
	speaker := *a
	speaker.stdout = above{e, a.stdout}
	if a.watched {
		speaker.stderr = above{e, a.stderr}
	}
	return &speaker, func(ctx context.Context, typed chan<- string) error { return e.read(ctx, keys, typed) }, restore
}

// read hands over the lines that are edited, until Ctrl-D.
func (e *editor) read(ctx context.Context, keys io.Reader, typed chan<- string) error {
	buffer := make([]byte, 4096)
	for {
		n, err := keys.Read(buffer)
		lines, over := e.feed(buffer[:n])
		for _, text := range lines {
			deliver(ctx, typed, text)
		}
		switch {
		case over || errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("cannot read what is typed: %w", err)
		}
	}
}

// readPlain hands over the lines of a terminal that edits them itself. Of a long line it keeps only the
// beginning and says nothing, so no line of that length is sent.
func (a *app) readPlain(ctx context.Context, typed chan<- string) error {
	lines := a.inputLines()
	for lines.Scan() {
		if len(lines.Bytes()) >= longestTyped {
			a.note("scv: not sent: this terminal cuts a line after %d bytes; put it into a file: %s <FILE", longestTyped, a.command("chat"))
			continue
		}
		deliver(ctx, typed, lines.Text())
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("cannot read what is typed: %w", readable(err))
	}
	return nil
}

func deliver(ctx context.Context, typed chan<- string, text string) {
	select {
	case typed <- text:
	case <-ctx.Done():
	}
}
