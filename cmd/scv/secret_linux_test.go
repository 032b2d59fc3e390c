package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/daemon/channel/feishu/feishutest"
)

// newTerminal makes a terminal: what a person types goes into keys, and the program reads line.
func newTerminal(t *testing.T) (keys, line *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		keys.Close() // who still reads the line is told that nobody types any more
		if line != nil {
			line.Close()
		}
	})
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	line, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return keys, line
}

// echoes reports whether a terminal shows what is typed.
func echoes(t *testing.T, line *os.File) bool {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(line.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return settings.Lflag&unix.ECHO != 0
}

// prompted is a sign-in that asks for a secret at a terminal.
type prompted struct {
	line       *os.File
	out, asked strings.Builder // once it has ended
	ended      chan int
}

// newPrompted waits until nothing is shown of what is typed.
func newPrompted(ctx context.Context, t *testing.T, home string, app feishutest.App) (p *prompted, keys *os.File) {
	t.Helper()
	p = &prompted{ended: make(chan int, 1)}
	keys, p.line = newTerminal(t)
	go func() {
		args := []string{"channels", "login", "feishu", "--app-id", app.ID, "--owner-open-id", app.Owner}
		p.ended <- run(ctx, args, p.line, &p.out, &p.asked, func(name string) string { return map[string]string{"SCV_HOME": home}[name] })
	}()
	for end := time.Now().Add(20 * time.Second); echoes(t, p.line); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the terminal shows what is typed")
		}
	}
	return p, keys
}

// wait waits for its end.
func (p *prompted) wait(t *testing.T) (code int) {
	t.Helper()
	select {
	case code := <-p.ended:
		return code
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
		return 0
	}
}

// A secret that a person types is asked for, and not shown while it is typed. Afterwards the terminal shows again.
func TestATypedSecretIsHidden(t *testing.T) {
	home, platform := newPlatform(t)
	app := platform.App()
	p, keys := newPrompted(t.Context(), t, home, app)
	if _, err := keys.WriteString(app.Secret + "\n"); err != nil {
		t.Fatal(err)
	}
	code := p.wait(t)
	if said := p.out.String() + p.asked.String(); code != 0 || !strings.Contains(said, "App secret: ") || strings.Contains(said, app.Secret) {
		t.Errorf("exit %d: %s", code, said)
	}
	if saved, err := os.ReadFile(credentialFile(home, "default")); err != nil || !strings.Contains(string(saved), app.Secret) || !echoes(t, p.line) {
		t.Errorf("saved %v; the terminal shows: %v", err, echoes(t, p.line))
	}
}

// Ctrl-C instead of a secret ends it, and leaves a terminal that shows what is typed.
func TestNoSecretIsTyped(t *testing.T) {
	home, platform := newPlatform(t)
	ctx, interrupt := context.WithCancel(t.Context())
	p, _ := newPrompted(ctx, t, home, platform.App())
	interrupt()
	if code := p.wait(t); code == 0 || !echoes(t, p.line) {
		t.Errorf("exit %d; the terminal shows: %v", code, echoes(t, p.line))
	}
}
