package daemon

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/internal/layout"
)

// TestOpenHomeAdvice: closing a folder is right for a home of ours and harmful for any other.
func TestOpenHomeAdvice(t *testing.T) {
	for name, want := range map[string]string{"daemon.lock": "chmod 700 it", "passwd": "a folder of its own", "": "chmod 700 it"} {
		home := filepath.Join(t.TempDir(), "home")
		if err := os.Mkdir(home, 0o700); err != nil {
			t.Fatal(err)
		}
		if name != "" {
			if err := os.WriteFile(filepath.Join(home, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(home, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenHome(home); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %q in it: %v, want %q", name, err, want)
		}
	}
}

// TestALockThatWasReplacedIsNoLonger: who removed it made room for another daemon, whose socket is its own.
func TestALockThatWasReplacedIsNoLonger(t *testing.T) {
	home, err := OpenHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := home.take(1)
	if err != nil {
		t.Fatal(err)
	}
	defer first.release()
	if err := first.stands(); err != nil {
		t.Errorf("in place: %v", err)
	}
	if err := os.Remove(home.join(layout.Lock)); err != nil {
		t.Fatal(err)
	}
	if err := first.stands(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: %v", err)
	}
	second, err := home.take(2)
	if err != nil {
		t.Fatal(err)
	}
	defer second.release()
	if err := first.stands(); err == nil || second.stands() != nil {
		t.Errorf("replaced: %v for the first, %v for the second", err, second.stands())
	}
}

// TestALockLeftBehindIsWaitedFor: a daemon killed while it forked leaves its lock to a child that will
// give it up. One that lives is not waited for.
func TestALockLeftBehindIsWaitedFor(t *testing.T) {
	home, err := OpenHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	left, err := home.take(dead.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, left.release)
	taken, err := home.take(os.Getpid())
	if err != nil {
		t.Fatalf("left behind: %v", err)
	}
	defer taken.release()
	begin := time.Now()
	if _, err := home.take(1); !errors.Is(err, ErrRunning) || time.Since(begin) >= leftBehind {
		t.Errorf("of a daemon that lives: %v, after %s", err, time.Since(begin))
	}
}
