package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often a lock that is held is tried again.
const lockPoll = 20 * time.Millisecond

// lockFile takes the lock that bbolt takes, on the same open file, so that bbolt finds it taken by
// itself. Without a bound one hung process would make every later start hang too.
func lockFile(ctx context.Context, file *os.File, exclusive bool, timeout time.Duration) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("cannot lock the store %q: %w", file.Name(), err)
		}
		select {
		case <-deadline.C:
			return fmt.Errorf("cannot open the store %q: %w by %s", file.Name(), ErrLocked, holder(file))
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return fmt.Errorf("cannot open the store %q: %w by %s: %w", file.Name(), ErrLocked, holder(file), ctx.Err())
		}
	}
}

// lockNow takes the lock of a home, or says at once who has it.
func lockNow(file *os.File) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%w by %s: stop that first", ErrLocked, holder(file))
	}
	return err
}

// holder names the process that holds the lock: as the kernel has it, else as the daemon's own lock
// file says.
func holder(file *os.File) string {
	if pid, ok := kernelHolder(file); ok {
		return fmt.Sprintf("process %d", pid)
	}
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(file.Name()), "daemon.lock"))
	if err == nil {
		if words := strings.Fields(string(raw)); len(words) > 0 {
			if pid, err := strconv.Atoi(words[0]); err == nil && pid > 0 {
				return fmt.Sprintf("the daemon, process %d", pid)
			}
		}
	}
	return "another process (which one is not known)"
}

// kernelHolder looks the file up in /proc/locks, whose lines are like
// "1: FLOCK  ADVISORY  WRITE 1234 fe:00:123456 0 EOF".
func kernelHolder(file *os.File) (pid int, ok bool) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return 0, false
	}
	locks, err := os.Open("/proc/locks")
	if err != nil { // no Linux
		return 0, false
	}
	defer func() { _ = locks.Close() }()
	dev := uint64(stat.Dev) //nolint:unconvert // it is int32 on darwin
	want := fmt.Sprintf("%02x:%02x:%d", unix.Major(dev), unix.Minor(dev), stat.Ino)
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 6 || f[1] != "FLOCK" || f[5] != want {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
			return pid, true
		}
	}
	return 0, false
}
