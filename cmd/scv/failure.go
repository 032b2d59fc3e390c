package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
)

// Exit codes of every verb but confirm, which has its own table in confirm.go.
const (
	exitOK       = 0
	exitFailed   = 1                          // refused, or went wrong
	exitUsage    = 2                          // the command line makes no sense
	exitNoDaemon = 3                          // nobody is there to ask
	exitUnread   = 128 + int(syscall.SIGPIPE) // who read the output has left, which needs no words
)

// failure is a bad end: one sentence, what to do about it, and the exit code.
type failure struct {
	code int
	err  error
	hint string // what to do, or ""
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }
func (f *failure) ExitCode() int { return f.code }

func failf(code int, hint, format string, args ...any) *failure {
	return &failure{code: code, hint: hint, err: fmt.Errorf(format, args...)}
}

// ended is an exit code for which everything was said already.
type ended int

func (e ended) Error() string { return fmt.Sprintf("ended with exit code %d", int(e)) }
func (e ended) ExitCode() int { return int(e) }

// errInterrupted is the end that a signal asked for.
var errInterrupted = errors.New("interrupted")

// report tells stderr how a verb ended and returns its exit code.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	var quiet ended
	if errors.As(err, &quiet) {
		return int(quiet)
	}
	var coded interface{ ExitCode() int }
	if errors.Is(err, syscall.EPIPE) && !errors.As(err, &coded) {
		return exitUnread
	}
	if errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	fmt.Fprintf(stderr, "scv: %s\n", line(strings.ReplaceAll(err.Error(), "\n", "; ")))
	if hint := hintOf(err); hint != "" {
		fmt.Fprintln(stderr, line(hint))
	}
	return exitCode(err)
}

// hintOf is what to do about an error, or "".
func hintOf(err error) string {
	var f *failure
	if errors.As(err, &f) {
		return f.hint
	}
	return ""
}

func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return exitFailed
}
