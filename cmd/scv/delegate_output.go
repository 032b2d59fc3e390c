package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"scv/daemon/agent"
)

const (
	maxPrinted = 64 << 20 // bytes an agent may print before it is stopped, as with the daemon
	longLine   = 64 << 10 // of output; the rest of a longer one is only counted
	keptAnswer = 1 << 20  // of what a plain command prints, to judge whether it answered
	keptErrors = 4 << 10  // of the end of what it writes to stderr
)

var errPrintedTooMuch = errors.New("it printed more than 64 MiB")

// read tells a per-turn agent its task, shows what it prints, and makes its answer of that.
func (r *ownedRun) read(ctx context.Context, program agent.Run, out io.Reader) (agent.Reply, error) {
	r.tasks.Go(func() {
		stdin := r.child.Stdin()
		_, _ = io.WriteString(stdin, program.Stdin) // an agent that does not read says why itself
		stdin.Close()
	})
	printed := make(chan []byte, 1)
	r.tasks.Go(func() { printed <- r.show(out, program.Condense) })
	exit, err := r.child.Wait()
	if err := errors.Join(err, r.stop()); err != nil { // a child left behind may hold the pipe
		return agent.Reply{}, err
	}
	reply, err := agent.Verdict(r.driver, <-printed, r.lastErrors(), exit.Code)
	if ctx.Err() != nil {
		return reply, ctx.Err()
	}
	return reply, err
}

// show passes on what the agent prints while it comes, and returns what its answer is made of.
func (r *ownedRun) show(out io.Reader, condense func(io.Reader) ([]byte, error)) []byte {
	talk, tells := r.driver.(agent.Talkative)
	r.streamed = !tells
	if condense == nil {
		condense = func(out io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(out, keptAnswer)) }
	}
	reader, writer := io.Pipe()
	kept := make(chan []byte, 1)
	go func() {
		b, _ := condense(reader) // what cannot be read is no answer, which Answer says
		kept <- b
		_, _ = io.Copy(io.Discard, reader)
	}()
	lines := bufio.NewReaderSize(io.TeeReader(out, writer), longLine)
	whole, printed := true, 0
	for {
		text, err := lines.ReadSlice('\n')
		if printed += len(text); printed > maxPrinted {
			r.cancel(errPrintedTooMuch)
		}
		switch {
		case !tells:
			_, _ = r.a.stdout.Write(r.fit(text))
		case whole:
			if told := talk.Progress(bytes.TrimSpace(text)); told != "" {
				r.progress(told)
			}
		}
		whole = !errors.Is(err, bufio.ErrBufferFull)
		if err != nil && whole {
			writer.Close()
			return <-kept
		}
	}
}

// fit makes output fit for a terminal, where it could play tricks. A file or a pipe gets it as it is.
func (r *ownedRun) fit(text []byte) []byte {
	if !r.a.screen || len(text) == 0 {
		return text
	}
	clean := []byte(body(string(bytes.TrimSuffix(text, []byte("\n")))))
	if bytes.HasSuffix(text, []byte("\n")) {
		clean = append(clean, '\n')
	}
	return clean
}

// lastErrors is the end of stderr. A process that got away may hold it open.
func (r *ownedRun) lastErrors() []byte {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case end := <-r.errors:
		return end
	case <-timer.C:
		return nil
	}
}

// showErrors passes on what the agent writes to stderr, and keeps the end of it.
func (r *ownedRun) showErrors(errs *os.File) {
	defer errs.Close()
	var end []byte
	defer func() { r.errors <- end }()
	lines := bufio.NewReaderSize(errs, longLine)
	for {
		text, err := lines.ReadSlice('\n')
		if len(text) > 0 {
			r.a.note("%s", body(string(bytes.TrimRight(text, "\r\n"))))
			end = append(end, text...)
			end = end[max(0, len(end)-keptErrors):]
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
