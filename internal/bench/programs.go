package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"scv/internal/layout"
	"scv/wire"
	"scv/wire/bus"
)

const (
	stopLimit = 10 * time.Second       // scv run promises 8 s
	lookEvery = 100 * time.Microsecond // for a socket that is about to open
)

// build makes a program as `make build` does, with what the linker is to stamp into it.
func (b *bench) build(ctx context.Context, name, pkg, stamps string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", stamps, "-o", b.path(name), pkg)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// program is one that runs beside the bench.
type program struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

// start runs a built program with an environment of its own. Its errors go to a file.
func (b *bench) start(name string, args ...string) (*program, error) {
	errs, err := os.OpenFile(b.path(name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer errs.Close() // the child has its own
	p := &program{cmd: exec.Command(b.path(name), args...)}
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.base}
	p.cmd.Stderr = errs
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}

// ready waits for the line that a bare program prints when it is up.
func (p *program) ready() error {
	line, err := p.out.ReadString('\n')
	if err != nil || line != "ready\n" {
		return fmt.Errorf("%s did not come up: it said %q: %w", filepath.Base(p.cmd.Path), line, errors.Join(err, io.EOF))
	}
	return nil
}

// stop asks a program to end and waits for it.
func (p *program) stop() error {
	late := time.AfterFunc(stopLimit, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	_ = p.stdin.Close() // the end of a bare program
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	err := p.cmd.Wait()
	if state := p.cmd.ProcessState; state != nil && (state.Success() || signalled(state, syscall.SIGTERM)) {
		return nil
	}
	return err
}

func signalled(state *os.ProcessState, by syscall.Signal) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == by
}

// daemon is a running scv of one home.
type daemon struct {
	*program
	home   string
	socket string
}

// startDaemon runs scv in a home and returns with its first answer.
func (b *bench) startDaemon(ctx context.Context, name string) (*daemon, error) {
	return b.startAs(ctx, "scv", name)
}

// startAs is the same of another build.
func (b *bench) startAs(ctx context.Context, program, name string) (*daemon, error) {
	home, err := filepath.EvalSymlinks(b.base)
	if err != nil {
		return nil, err
	}
	home = filepath.Join(home, name)
	d := &daemon{home: home, socket: bus.SocketPath(home, layout.Instance(home))}
	if d.program, err = b.start(program, "--home", home, "run"); err != nil {
		return nil, err
	}
	if err := firstAnswer(ctx, d.socket); err != nil {
		return nil, errors.Join(err, d.stop())
	}
	return d, nil
}

// firstAnswer asks a daemon that is starting until it answers.
func firstAnswer(ctx context.Context, socket string) error {
	for {
		err := bus.Do(ctx, bus.SocketDialer(socket), func(ctx context.Context, c *bus.Client) error {
			_, err := c.Control(ctx, wire.StatusCommand{})
			return err
		})
		if !errors.Is(err, bus.ErrNoDaemon) && !errors.Is(err, bus.ErrStarting) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nobody answers on %q: %w", socket, ctx.Err())
		case <-time.After(lookEvery):
		}
	}
}

// connectAll makes n connections; closeAll ends them.
func connectAll(ctx context.Context, socket string, n int) (clients []*bus.Client, err error) {
	for range n {
		c, err := bus.Connect(ctx, bus.SocketDialer(socket))
		if err != nil {
			closeAll(clients)
			return nil, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func closeAll(clients []*bus.Client) {
	for _, c := range clients {
		c.Close()
	}
}
