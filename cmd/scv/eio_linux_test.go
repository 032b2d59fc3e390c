package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/wire"
)

// failingHome is a home on a disk of its own, and what makes the disk fail: from then on every write, sync
// and opening of a file there is an I/O error. mended brings it back, with what was durable.
func failingHome(t *testing.T) (home string, fail, mended func()) {
	t.Helper()
	home = newHome(t)
	image := filepath.Join(filepath.Dir(home), "disk")
	if os.Getuid() != 0 {
		t.Skip("I/O errors are NOT tested here: only root may mount a disk that fails")
	}
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
		t.Skipf("I/O errors are NOT tested here: no file system can be made: %v %s", err, out)
	}
	mounted := func() error {
		out, err := exec.Command("mount", "-o", "loop", image, home).CombinedOutput()
		if err != nil {
			return errors.Join(err, errors.New(string(out)))
		}
		return os.Chmod(home, 0o700)
	}
	if err := mounted(); err != nil {
		t.Skipf("I/O errors are NOT tested here: %v", err)
	}
	t.Cleanup(func() { unmount(t, home) })
	writeConfig(t, home, diskConfig)
	return home, func() { cutPower(t, home) }, func() {
		unmount(t, home)
		if err := mounted(); err != nil {
			t.Fatal(err)
		}
	}
}

// cutPower is what internal/powercut does; here it matters what the living are told afterwards.
func cutPower(t *testing.T, home string) {
	t.Helper()
	const shutdown, withoutFlushes = 0x8004587D, 2 // EXT4_IOC_SHUTDOWN
	root, err := os.Open(home)
	if err == nil {
		err = errors.Join(unix.IoctlSetPointerInt(int(root.Fd()), shutdown, withoutFlushes), root.Close())
	}
	if err != nil {
		t.Fatalf("the disk does not fail: %v", err)
	}
}

// unmount waits for the last who works there.
func unmount(t *testing.T, home string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Unmount(home, 0)
		if err == nil || errors.Is(err, unix.EINVAL) { // EINVAL: it is not mounted
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("cannot unmount the disk: %v", errors.Join(err, unix.Unmount(home, unix.MNT_DETACH)))
			return
		}
	}
}

// TestDiskFails has the disk of a living daemon fail for good: status says so, a kill kills, and what was
// acknowledged is there on the day the disk is mounted again.
func TestDiskFails(t *testing.T) {
	home, fail, mended := failingHome(t)
	d, handle := withSleeper(t, home)
	c := d.client(t)
	send := func(id string) error {
		_, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: id, Text: "hello"})
		return err
	}
	if err := send("kept"); err != nil {
		t.Fatal(err)
	}
	fail()
	if got := send("lost"); got == nil {
		t.Error("a message was acknowledged that no disk has")
	}
	d.refusesWhile(t, handle, func() error { return send("lost-too") })
	d.kill()
	mended()
	d = startDaemon(t, home)
	c = d.client(t)
	if line := awaitAnswer(t, c, "kept"); line.Kind != wire.ChatReply && line.Kind != wire.ChatFailure {
		t.Errorf("the answer to what was acknowledged is %+v", line)
	}
	if lines := reports(t, c, "busy", "work"); len(lines) != 1 || lines[0].Kind != wire.ChatFailure {
		t.Errorf("the reports of the killed run: %+v\n%s", lines, d.log())
	}
	d.terminate(t)
	awaitNobody(t, home)
}
