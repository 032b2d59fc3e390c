package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	commandLimit = 30 * time.Second       // for one command in the foreground
	pollEvery    = 50 * time.Millisecond  // when something is awaited
	stopLimit    = 10 * time.Second       // scv run promises 8 s
	cutLimit     = 500 * time.Millisecond // for what still writes after its parent was killed
)

// stage is where the demo happens: one home, one daemon, and what the audience sees.
type stage struct {
	ctx        context.Context
	out        io.Writer
	scv        string // the installed binary, absolute
	next       string // the build that it is replaced by
	base, home string // everything is under base
	daemon     *job
	jobs       []*job   // everything started in the background
	ends       []func() // of what else the story has begun
}

// scene is one step of the story.
type scene struct {
	title string
	play  func() error
}

func (s *stage) play(scenes []scene) error {
	for i, sc := range scenes {
		fmt.Fprintf(s.out, "\n== %d. %s\n\n", i+1, sc.title)
		if err := sc.play(); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, sc.title, err)
		}
	}
	return nil
}

// say tells the audience something.
func (s *stage) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// typed shows a command line as a person would type it.
func (s *stage) typed(line string) { fmt.Fprintf(s.out, "  $ %s\n", line) }

// printed shows what a command printed.
func (s *stage) printed(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(s.out, "  %s\n", strings.TrimRight(line, "\n"))
	}
}

// command is scv with the demo's home. A demo run by an agent of another SCV keeps that agent's marks.
func (s *stage) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.scv, args...)
	cmd.Dir = s.base
	path := filepath.Dir(s.scv) + string(filepath.ListSeparator) + os.Getenv("PATH")
	cmd.Env = append(os.Environ(), "SCV_HOME="+s.home, "NO_COLOR=1", "PATH="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = cutLimit
	return cmd
}

// quiet runs scv without an audience and returns what it printed on stdout.
func (s *stage) quiet(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(s.ctx, commandLimit)
	defer cancel()
	out, err := s.command(ctx, args...).Output()
	return string(out), err
}

// run shows a command, what it prints, and checks its exit code.
func (s *stage) run(wantCode int, args ...string) (string, error) {
	s.typed(shellLine("scv", args...))
	ctx, cancel := context.WithTimeout(s.ctx, commandLimit)
	defer cancel()
	out, err := s.command(ctx, args...).CombinedOutput()
	s.printed(string(out))
	return string(out), checkExit(err, wantCode, args)
}

// expect is run for a command that must print certain words.
func (s *stage) expect(words string, args ...string) error {
	out, err := s.run(0, args...)
	if err == nil && !strings.Contains(out, words) {
		err = fmt.Errorf("%q did not print %q", shellLine("scv", args...), words)
	}
	return err
}

func checkExit(err error, want int, args []string) error {
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		return fmt.Errorf("cannot run %q: %w", shellLine("scv", args...), err)
	}
	if code != want {
		return fmt.Errorf("%q ended with exit code %d, expected %d", shellLine("scv", args...), code, want)
	}
	return nil
}

// until waits for a condition.
func (s *stage) until(what string, limit time.Duration, holds func() bool) error {
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %v in vain for %s", limit, what)
		case <-time.After(pollEvery):
		}
	}
	return nil
}

// job is a command in the background.
type job struct {
	args []string
	cmd  *exec.Cmd
	out  bytes.Buffer // to be read once it has ended
	err  error        // of Wait
	done chan struct{}
}

// start shows a command and leaves it running. Its output is kept, or goes to log where that is given.
func (s *stage) start(log *os.File, args ...string) (*job, error) {
	s.typed(shellLine("scv", args...) + " &")
	j := &job{args: args, cmd: s.command(context.WithoutCancel(s.ctx), args...), done: make(chan struct{})}
	j.cmd.Stdout, j.cmd.Stderr = &j.out, &j.out
	if log != nil {
		j.cmd.Stdout, j.cmd.Stderr = log, log
	}
	if err := j.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %q: %w", shellLine("scv", args...), err)
	}
	s.jobs = append(s.jobs, j)
	go func() {
		j.err = j.cmd.Wait()
		close(j.done)
	}()
	return j, nil
}

// finish waits for a job, shows what it printed, and checks its exit code.
func (s *stage) finish(j *job, limit time.Duration, wantCode int) error {
	name := shellLine("scv", j.args...)
	if err := s.until(fmt.Sprintf("the end of %q", name), limit, j.ended); err != nil {
		return err
	}
	s.say("  [%s]", name)
	s.printed(j.out.String())
	s.say("  [exit code %d]", j.cmd.ProcessState.ExitCode())
	return checkExit(j.err, wantCode, j.args)
}

func (j *job) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// cut ends a job as a crash would.
func (j *job) cut() {
	_ = j.cmd.Process.Kill() // an error means that it has ended
	<-j.done
}

// showLog prints the end of the daemon's log, to explain a failure.
func (s *stage) showLog() {
	const most = 4000 // bytes
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return
	}
	s.say("\nThe end of the daemon's log:")
	s.printed(string(text[max(0, len(text)-most):]))
}

func (s *stage) logPath() string { return filepath.Join(s.base, "daemon.log") }

// clear ends what still runs and removes the folder. The daemon gets its chance to stop its own runs.
func (s *stage) clear() error {
	if s.daemon != nil && !s.daemon.ended() {
		_ = s.daemon.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.daemon.done:
		case <-time.After(stopLimit):
		}
	}
	for _, j := range s.jobs {
		j.cut()
	}
	for _, pid := range leftovers(s.base) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it carries our home in its environment: ours
	}
	for _, end := range s.ends {
		end()
	}
	return os.RemoveAll(s.base)
}

// shellLine is a command as typed into a shell.
func shellLine(name string, args ...string) string {
	words := []string{name}
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " '\"$&;|<>()*?#~!`\\") {
			a = `"` + strings.NewReplacer(`"`, `\"`, "`", "\\`", `$`, `\$`, `\`, `\\`).Replace(a) + `"`
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
