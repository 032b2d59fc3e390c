package powercut

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// boot is one time between power on and power off: a child at work and what it says.
type boot struct {
	disk  *disk
	cmd   *exec.Cmd
	lines *bufio.Reader
	wrong strings.Builder // its stderr
	wait  func() error    // for its end
}

// boot puts the power on and starts a child with a role.
func (d *disk) boot(role string, args ...string) *boot {
	d.t.Helper()
	d.on()
	self, err := os.Executable()
	must(d.t, err)
	b := &boot{disk: d}
	b.wait = sync.OnceValue(func() error { return b.cmd.Wait() })
	b.cmd = exec.Command(self, append([]string{filepath.Join(d.dir, "scv.db")}, args...)...)
	b.cmd.Env = append(os.Environ(), roleEnv+"="+role)
	b.cmd.Stderr = &b.wrong
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := b.cmd.StdoutPipe()
	must(d.t, err)
	must(d.t, b.cmd.Start())
	d.t.Cleanup(b.kill) // it has ended, unless the test failed
	b.lines = bufio.NewReader(out)
	return b
}

// hear waits for the child's next line: its first word and the rest. It is "" after the last.
func (b *boot) hear() (word, rest string) {
	line, err := b.lines.ReadString('\n')
	if err != nil {
		return "", "" // half a line was not said
	}
	word, rest, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	return word, rest
}

// expect waits for a certain word. The error has what the child said of its trouble.
func (b *boot) expect(word string) (rest string, err error) {
	got, rest := b.hear()
	if got == word {
		return rest, nil
	}
	_, _ = io.Copy(io.Discard, b.lines)
	return "", fmt.Errorf("the child said %q and not %q, and ended: %w\n%s", got, word, b.wait(), &b.wrong)
}

// end waits until the child has ended, and puts the power off in good order.
func (b *boot) end() error {
	b.disk.t.Helper()
	_, _ = io.Copy(io.Discard, b.lines)
	err := b.wait()
	b.disk.off()
	if err != nil {
		return fmt.Errorf("the child ended: %w\n%s", err, &b.wrong)
	}
	return nil
}

// kill ends a child that is of no more use.
func (b *boot) kill() {
	_ = b.cmd.Process.Kill() // it may have ended by itself
	_ = b.wait()
}
