package powercut

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// How a file system's power is cut (fs/ext4/ext4.h). Without the flag it would write out all it has first.
const (
	ioctlShutdown  = 0x8004587D
	withoutFlushes = 2
)

// Bounds, far beyond what each step takes.
const (
	diskBytes    = 48 << 20 // in memory, and only what is written
	mkfsTimeout  = time.Minute
	patience     = 20 * time.Second // for the kernel to let go of something
	loopAttempts = 20
)

// The ways a disk is mounted. Both leave out the kindness of ext4 to programs that rename without a sync;
// the second also lets a file's new length become durable before its contents.
var mountings = []string{"noauto_da_alloc,data=ordered", "noauto_da_alloc,data=writeback"}

// disk is an ext4 file system on a loop device. Each time its power comes on it is another device, so that
// nothing but what was written is left of the time before.
type disk struct {
	t        *testing.T
	platter  *os.File // in memory; goes away with this process
	dir      string
	mounting string
	root     *os.File // open while the power is on
}

var disks atomic.Uint64 // made so far, to tell their names apart

func newDisk(t *testing.T, mounting string) *disk {
	t.Helper()
	name := fmt.Sprintf("scv-powercut-%d-%d", os.Getpid(), disks.Add(1))
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	must(t, err)
	d := &disk{t: t, platter: os.NewFile(uintptr(fd), name), dir: t.TempDir(), mounting: mounting}
	t.Cleanup(d.scrap)
	must(t, d.platter.Truncate(diskBytes))
	d.format()
	return d
}

func (d *disk) format() {
	d.t.Helper()
	loop, err := attach(d.platter)
	if err != nil {
		cannot(d.t, err.Error())
	}
	defer loop.Close()
	mkfs, err := findMkfs()
	if err != nil {
		cannot(d.t, err.Error())
	}
	ctx, cancel := context.WithTimeout(context.Background(), mkfsTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, mkfs, "-q", "-F", "-m", "0", "-J", "size=4",
		"-E", "lazy_itable_init=0,nodiscard", loop.Name()).CombinedOutput()
	if err != nil {
		d.t.Fatalf("cannot make a file system: %v\n%s", err, out)
	}
}

func findMkfs() (path string, err error) {
	for _, name := range []string{"mkfs.ext4", "/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4"} {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("it takes mkfs.ext4, of e2fsprogs: %w", err)
}

// attach gives a file a loop device, which goes away when it is neither open nor mounted any more.
func attach(platter *os.File) (loop *os.File, err error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("there are no loop devices: %w", err)
	}
	defer control.Close()
	for range loopAttempts {
		var n int
		if n, err = unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE); err != nil {
			break
		}
		if loop, err = os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0); err != nil {
			break
		}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &unix.LoopConfig{
			Fd: uint32(platter.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR},
		})
		if err == nil {
			return loop, nil
		}
		loop.Close()
		if !errors.Is(err, unix.EBUSY) { // somebody else took it
			break
		}
	}
	return nil, fmt.Errorf("cannot get a loop device: %w", err)
}

// on mounts the disk, which replays its journal after a cut.
func (d *disk) on() {
	d.t.Helper()
	loop, err := attach(d.platter)
	must(d.t, err)
	defer loop.Close()
	err = unix.Mount(loop.Name(), d.dir, "ext4", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOATIME, d.mounting)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENODEV): // a container's root, a kernel without ext4
		cannot(d.t, "the disk cannot be mounted: "+err.Error())
	case err != nil:
		d.t.Fatalf("cannot mount the disk: %v", err)
	}
	d.root, err = os.Open(d.dir)
	must(d.t, err)
}

// cut cuts the power. Whoever works on the disk gets EIO from now on.
func (d *disk) cut() {
	d.t.Helper()
	if err := unix.IoctlSetPointerInt(int(d.root.Fd()), ioctlShutdown, withoutFlushes); err != nil {
		d.t.Fatalf("cannot cut the power: %v", err)
	}
}

// off unmounts the disk. Nobody may work on it any more.
func (d *disk) off() {
	d.t.Helper()
	if d.root == nil {
		return
	}
	d.root.Close()
	d.root = nil
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		err := unix.Unmount(d.dir, 0)
		if err == nil {
			return
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			d.t.Errorf("cannot unmount the disk: %v", err)
			_ = unix.Unmount(d.dir, unix.MNT_DETACH) // then it goes away with its last user
			return
		}
	}
}

// scrap leaves nothing of the disk.
func (d *disk) scrap() {
	d.off()
	for end := time.Now().Add(patience); d.attached(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			d.t.Errorf("the loop device of %s is still there", d.platter.Name())
			break
		}
	}
	d.platter.Close()
}

// attached reports whether a loop device still holds the platter.
func (d *disk) attached() bool {
	holders, _ := filepath.Glob("/sys/block/loop*/loop/backing_file") // the pattern is sound
	for _, h := range holders {
		if file, err := os.ReadFile(h); err == nil && strings.Contains(string(file), d.platter.Name()+" ") {
			return true
		}
	}
	return false
}
