package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"scv/wire"
	"scv/wire/bus"
)

const stranger = 65534 // nobody

// asStranger runs act on a thread of its own that is another user. The kernel tells a listener whose
// thread connected. The thread ends with act, so its powers come back to nobody.
func asStranger(t *testing.T, act func() error) error {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to act as another user")
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked
		_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, stranger, stranger, stranger)
		if errno != 0 {
			done <- errno
			return
		}
		done <- act()
	}()
	return <-done
}

// TestStrangersAreKeptOut: another user of the machine, wrong credentials, one who would answer in the
// daemon's place and one who listens, 1,000 tries in all against a real daemon, while the owner works.
func TestStrangersAreKeptOut(t *testing.T) {
	tries := number(t, "SCV_STRANGERS", 1000) / 4
	d := startDaemon(t, newHome(t))
	c := d.client(t)
	before := d.dump(t)
	socket := bus.SocketPath(d.home, instanceID(d.home))
	if err := asStranger(t, func() error {
		if _, err := net.Dial("unix", socket); !errors.Is(err, syscall.EACCES) {
			return fmt.Errorf("the closed home let another user reach the socket: %w", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(d.home, 0o711), os.Chmod(socket, 0o666)); err != nil { // only the check of the peer stands
		t.Fatal(err)
	}
	for _, folder := range []string{filepath.Dir(d.home), filepath.Dir(filepath.Dir(d.home))} {
		if err := os.Chmod(folder, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if err := asStranger(t, func() error {
		return tryAll(tries, func(int) error { return knock(d.home, randomID(), "another user") })
	}); err != nil {
		t.Errorf("another user: %v", err)
	}
	names := []string{"daemon", "", "peer-1-1", "*", ">", strings.Repeat("A", 32), strings.Repeat("0", 31), "admin"}
	if err := tryAll(tries, func(i int) error { return knock(d.home, names[i%len(names)], "authorization violation") }); err != nil {
		t.Errorf("wrong credentials: %v", err)
	}
	eavesdropper := newRaw(t, d.home)
	defer eavesdropper.close()
	subjects := append([]string{">", "daemon.>", "*.*", "_INBOX_>", "_INBOX_*.>", "_R_.>", "$SYS.>", "$SRV.>"}, wire.RequestSubjects()...)
	for i := range 2 * tries { // an impostor's subscription is one to a subject of requests
		if err := eavesdropper.say("SUB %s  %d\r\n", subjects[i%len(subjects)], i+2); err != nil {
			t.Fatal(err)
		}
		status, err := c.Control(t.Context(), wire.StatusCommand{})
		if err != nil || int(status.PID) != d.cmd.Process.Pid {
			t.Fatalf("the owner was answered by %d: %v", status.PID, err)
		}
		line := "INFO"
		for strings.HasPrefix(line, "INFO") || line == "PING" { // the server's own talk
			if line, err = eavesdropper.until(""); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.HasPrefix(line, "-ERR 'Permissions Violation for Subscription") {
			t.Fatalf("the eavesdropper heard %q", line)
		}
	}
	if after := d.dump(t); after != before {
		t.Errorf("the store changed: %s", firstDifference(before, after))
	}
	d.terminate(t)
}

func tryAll(n int, try func(int) error) error {
	for i := range n {
		if err := try(i); err != nil {
			return fmt.Errorf("try %d: %w", i, err)
		}
	}
	return nil
}

// knock tries to come in under a name and to use a door; it must be cut with these words and hear nothing.
func knock(home, name, words string) error {
	r, err := dialRaw(home)
	if err != nil {
		return err
	}
	defer r.close()
	inbox := "_INBOX_" + name + ".x"
	// A write may fail because we are cut already: then reading tells.
	_ = r.say("CONNECT {\"user\":%q,\"pass\":\"guess\"}\r\nSUB %s  1\r\nPUB daemon.control %s 19\r\n{\"action\":\"status\"}\r\n", name, inbox, inbox)
	var heard strings.Builder
	for {
		line, err := r.in.ReadString('\n')
		heard.WriteString(line)
		if err == nil {
			continue
		}
		if !cutOff(err) || strings.Contains(heard.String(), "MSG ") {
			return fmt.Errorf("it was not cut: %w: %q", err, heard.String())
		}
		if !strings.Contains(heard.String(), words) && !errors.Is(err, syscall.ECONNRESET) {
			return fmt.Errorf("it was cut without %q: %q", words, heard.String())
		}
		return nil
	}
}

// TestNoNetworkListener: the daemon has no socket of the network at all, and one Unix socket. The same
// look finds a listener that this test opens.
func TestNoNetworkListener(t *testing.T) {
	d := startDaemon(t, newHome(t))
	if found := networkSockets(t, d.cmd.Process.Pid); len(found) > 0 {
		t.Errorf("the daemon has %v", found)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if found := networkSockets(t, os.Getpid()); len(found) != 1 {
		t.Errorf("of one listener this look finds %v", found)
	}
	d.terminate(t)
}

var socketInode = regexp.MustCompile(`^socket:\[(\d+)\]$`)

// networkSockets are the lines of /proc/net that belong to descriptors of a process.
func networkSockets(t *testing.T, pid int) (found []string) {
	t.Helper()
	inodes := map[string]bool{}
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no descriptors of %d: %v", pid, err)
	}
	for _, path := range paths {
		target, err := os.Readlink(path)
		if m := socketInode.FindStringSubmatch(target); err == nil && m != nil {
			inodes[m[1]] = true
		}
	}
	for _, kind := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6", "packet"} {
		table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, kind))
		if err != nil {
			continue // a kernel without it has no such sockets
		}
		for _, line := range strings.Split(string(table), "\n") {
			for _, word := range strings.Fields(line) {
				if len(word) > 3 && inodes[word] {
					found = append(found, kind+": "+line)
				}
			}
		}
	}
	return found
}

// TestNothingIsOpenForAMoment looks at every file of the home as often as it can during 20 starts under a
// umask that closes nothing. A file that is closed only after it was made is seen by the same look.
func TestNothingIsOpenForAMoment(t *testing.T) {
	open := map[string]os.FileMode{}
	home := newHome(t)
	stop := watchModes(home, open)
	old := syscall.Umask(0)
	for range 20 {
		startDaemon(t, home).terminate(t)
		paths, err := filepath.Glob(filepath.Join(home, "[!c]*")) // all but config.toml: each start is a first one
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if err := os.RemoveAll(path); err != nil {
				t.Error(err)
			}
		}
	}
	syscall.Umask(old)
	stop()
	if len(open) > 0 {
		t.Errorf("open to others: %v", open)
	}
	stop = watchModes(home, open)
	for range 2000 {
		careless := filepath.Join(home, "careless")
		if err := errors.Join(os.WriteFile(careless, nil, 0o644), os.Chmod(careless, 0o600), os.Remove(careless)); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if len(open) != 1 {
		t.Errorf("the look does not see a window: %v", open)
	}
}

// watchModes notes what others could open, until the function it returns was called.
func watchModes(home string, open map[string]os.FileMode) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
			}
			paths, _ := filepath.Glob(filepath.Join(home, "*"))
			dotted, _ := filepath.Glob(filepath.Join(home, ".*"))
			for _, path := range append(paths, dotted...) {
				if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 {
					open[path] = info.Mode()
				}
			}
		}
	}()
	return func() { close(quit); <-done }
}
