package testexe

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// program is a fake program at work.
type program struct {
	args     []string
	conns    []net.Conn // held open
	children []*exec.Cmd
}

// do does one step. It is one switch, so that a script and what it means can be read side by side.
func (p *program) do(s Step) error {
	switch {
	case s.Print != "":
		fmt.Println(s.Print)
	case s.PrintErr != "":
		fmt.Fprintln(os.Stderr, s.PrintErr)
	case s.PrintArgs:
		for _, arg := range p.args {
			fmt.Println(arg)
		}
	case s.PrintEnv != "":
		printEnv(s.PrintEnv)
	case s.SetEnv != "":
		name, value, _ := strings.Cut(s.SetEnv, "=")
		return os.Setenv(name, value)
	case s.WriteBytes > 0:
		return writeBytes(s.WriteBytes)
	case s.ReadAll:
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case s.ReadLine:
		return readLine()
	case s.Echo:
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case s.WritePID != "":
		return writeWhole(s.WritePID, strconv.Itoa(os.Getpid()))
	case s.WriteFile != nil:
		return writeWhole(s.WriteFile.Path, s.WriteFile.Text)
	case s.WaitFile != "":
		for !exists(s.WaitFile) {
			time.Sleep(5 * time.Millisecond)
		}
	case s.Connect != "":
		conn, err := net.Dial("unix", s.Connect)
		p.conns = append(p.conns, conn)
		return err
	case s.SleepMillis > 0:
		time.Sleep(time.Duration(s.SleepMillis) * time.Millisecond)
	case s.IgnoreTerm:
		signal.Ignore(syscall.SIGTERM)
	case s.OnTerm != nil:
		exitOnTerm(*s.OnTerm)
	case s.CloseOutput:
		return errors.Join(os.Stdout.Close(), os.Stderr.Close())
	case s.Spawn != nil:
		return p.spawn(*s.Spawn)
	case s.WaitAll:
		for _, c := range p.children {
			_ = c.Wait() // how they end is their business
		}
		p.children = nil
	case s.ACP != nil:
		return p.speak(*s.ACP)
	case s.Exec != nil:
		path, args := Command(s.Exec)
		return syscall.Exec(path, append([]string{path}, append(args, p.args...)...), os.Environ())
	case s.KillSelf:
		return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGKILL), errors.New("still alive"))
	case s.Exit != nil:
		exit(*s.Exit)
	default:
		return errors.New("empty step")
	}
	return nil
}

func (p *program) spawn(s Spawn) error {
	if s.Double {
		inner := s
		inner.Double = false
		return command(Script{{Spawn: &inner}}).Run()
	}
	for range max(s.Times, 1) {
		cmd := command(s.Script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: s.Setsid, Setpgid: s.Group}
		if s.EmptyEnv || s.Env != nil {
			cmd.Env = append([]string{}, s.Env...)
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		p.children = append(p.children, cmd)
	}
	return nil
}

// command is a fake program for os/exec, with our stdout and stderr.
func command(script Script) *exec.Cmd {
	path, args := Command(script)
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

func printEnv(name string) {
	if value, ok := os.LookupEnv(name); ok {
		fmt.Println(name + "=" + value)
		return
	}
	fmt.Println(name + " (unset)")
}

func writeBytes(n int) error {
	line := strings.Repeat("x", 63) + "\n"
	for ; n > 0; n -= len(line) {
		if _, err := io.WriteString(os.Stdout, line[:min(n, len(line))]); err != nil {
			return err
		}
	}
	return nil
}

// readLine reads no further than the line, so that later steps find the rest.
func readLine() error {
	var b [1]byte
	for b[0] != '\n' {
		if _, err := io.ReadFull(os.Stdin, b[:]); err != nil {
			return err
		}
	}
	return nil
}

func exitOnTerm(code int) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() { <-term; exit(code) }()
}

// writeWhole makes a file that is either absent or complete, so that a test may wait for it.
func writeWhole(path, text string) error {
	temp := path + ".new-" + strconv.Itoa(os.Getpid())
	if err := os.WriteFile(temp, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
