package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// newTerminal makes a terminal: what a person types goes into keys, and the program reads line.
func newTerminal(t *testing.T) (keys, line *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keys.Close() })
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
	t.Cleanup(func() { line.Close() })
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

// A secret that a person types is asked for, and not shown while it is typed. Afterwards the terminal shows again.
func TestATypedSecretIsHidden(t *testing.T) {
	home, p := newPlatform(t)
	app := p.App()
	keys, line := newTerminal(t)
	var out, asked strings.Builder
	ended := make(chan int, 1)
	go func() {
		args := []string{"channels", "login", "feishu", "--app-id", app.ID, "--owner-open-id", app.Owner}
		ended <- run(t.Context(), args, line, &out, &asked, func(name string) string { return map[string]string{"SCV_HOME": home}[name] })
	}()
	for end := time.Now().Add(20 * time.Second); echoes(t, line); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the terminal shows what is typed")
		}
	}
	if _, err := keys.WriteString(app.Secret + "\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-ended:
		if code != 0 || !strings.Contains(asked.String(), "App secret: ") || strings.Contains(out.String()+asked.String(), app.Secret) {
			t.Errorf("exit %d: %s%s", code, out.String(), asked.String())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	if saved, err := os.ReadFile(credentialFile(home, "default")); err != nil || !strings.Contains(string(saved), app.Secret) || !echoes(t, line) {
		t.Errorf("saved %v; the terminal shows: %v", err, echoes(t, line))
	}
}
