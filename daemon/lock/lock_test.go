package lock

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"scv/daemon/process"
)

func pathOf(t *testing.T) string { return filepath.Join(t.TempDir(), "daemon.lock") }

func me(t *testing.T) Holder {
	t.Helper()
	self, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	return Own(self, Daemon, "")
}

// TestALockThatWasReplacedIsNoLonger: who removed it made room for another daemon, whose socket is its own.
func TestALockThatWasReplacedIsNoLonger(t *testing.T) {
	path := pathOf(t)
	first, err := Take(t.Context(), path, me(t))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	if err := first.Stands(); err != nil {
		t.Errorf("in place: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := first.Stands(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: %v", err)
	}
	second, err := Take(t.Context(), path, me(t))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Release()
	if err := first.Stands(); err == nil || second.Stands() != nil {
		t.Errorf("replaced: %v for the first, %v for the second", err, second.Stands())
	}
}

// TestALockLeftBehindIsWaitedFor: a daemon killed while it forked leaves its lock to a child that will
// give it up. One that lives is not waited for, and a guard is.
func TestALockLeftBehindIsWaitedFor(t *testing.T) {
	path := pathOf(t)
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	guard := me(t)
	guard.Role = Guard
	for what, left := range map[string]Holder{"a dead one": {PID: dead.Process.Pid}, "a guard": guard} {
		held, err := Take(t.Context(), path, left)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(50*time.Millisecond, held.Release)
		taken, err := Take(t.Context(), path, me(t))
		if err != nil {
			t.Fatalf("left behind by %s: %v", what, err)
		}
		begin := time.Now()
		if _, err := Take(t.Context(), path, me(t)); !errors.Is(err, ErrRunning) || time.Since(begin) >= leftBehind {
			t.Errorf("of a daemon that lives: %v, after %s", err, time.Since(begin))
		}
		taken.Release()
	}
}

// TestAStandInMakesRoom: it is told to end, and waited for.
func TestAStandInMakesRoom(t *testing.T) {
	path := pathOf(t)
	standIn := exec.Command("flock", "--no-fork", path, "sleep", "60")
	if err := standIn.Start(); err != nil {
		t.Skipf("there is no flock here: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- standIn.Wait() }()
	id, err := process.Lookup(standIn.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if held, err := Try(path, Own(id, StandIn, "")); err != nil {
			t.Fatal(err)
		} else if held == nil {
			break
		} else {
			held.Release()
		}
		if time.Now().After(deadline) {
			t.Fatal("flock does not take the lock")
		}
	}
	held, err := Take(t.Context(), path, me(t))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	<-ended
}

// TestHolderIsOneLine: what is written is read again, also by who expects the pid alone.
func TestHolderIsOneLine(t *testing.T) {
	path := pathOf(t)
	want := Holder{PID: 4194304, Start: 1<<64 - 1, Role: StandIn, Image: "0123456789ab", Back: true}
	if n := len(want.line()); n != lineSize {
		t.Errorf("a line has %d bytes, want %d", n, lineSize)
	}
	held, err := Take(t.Context(), path, want)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	if got, err := Read(path); err != nil || got != want {
		t.Errorf("read %+v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte("4242                \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(path); err != nil || got != (Holder{PID: 4242}) {
		t.Errorf("of an older daemon: %+v, %v", got, err)
	}
}
