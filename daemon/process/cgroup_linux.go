package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"scv/internal/failpoint"
)

var errNoCgroup = errors.New("no cgroup v2 is mounted here, or not the part with ours")

// FindCgroups finds the cgroup that we are in and tries whether others can be made in it.
func FindCgroups() (Cgroups, error) {
	own := cgroupFolder("self")
	if own == "" {
		return "", fmt.Errorf("cannot make cgroups: %w", errNoCgroup)
	}
	probe := Cgroup{Path: filepath.Join(own, "scv-probe-"+strconv.Itoa(os.Getpid()))}
	if err := probe.make(); err != nil {
		return "", fmt.Errorf("cannot make cgroups in %q: %w", own, err)
	}
	err := unix.Access(filepath.Join(probe.Path, "cgroup.kill"), unix.W_OK) // Linux 5.14
	if err = errors.Join(err, probe.remove()); err != nil {
		return "", fmt.Errorf("cannot use cgroups in %q: %w", own, err)
	}
	return Cgroups(own), nil
}

// LookForCgroups is where the runs of this process get theirs. Unlike FindCgroups it changes nothing, and
// only looks whether we might make some there.
func LookForCgroups(pid int) (Cgroups, error) {
	folder := cgroupFolder(strconv.Itoa(pid))
	if folder == "" {
		return "", errNoCgroup
	}
	for _, path := range []string{folder, filepath.Join(folder, "cgroup.procs")} {
		if err := unix.Access(path, unix.W_OK); err != nil {
			return "", fmt.Errorf("%s may not be changed: %w", path, err)
		}
	}
	return Cgroups(folder), nil
}

// Handles are the runs of an instance whose cgroups are there, sorted.
func (in Cgroups) Handles(instance string) (handles []string, err error) {
	if in == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(string(in))
	if err != nil {
		return nil, fmt.Errorf("cannot list cgroups: %w", err)
	}
	for _, e := range entries {
		if handle, ours := strings.CutPrefix(e.Name(), cgroupPrefix(instance)); ours && e.IsDir() {
			handles = append(handles, handle)
		}
	}
	return handles, nil
}

// CgroupOf is the own cgroup of a run that this process is in, wherever it is; none if it is in no such.
func CgroupOf(pid int, instance, handle string) Cgroup {
	for folder := cgroupFolder(strconv.Itoa(pid)); len(folder) > 1; folder = filepath.Dir(folder) {
		if c := (Cgroup{Path: folder}); c.Of(instance, handle) {
			c.Inode = inodeOf(folder)
			return c
		}
	}
	return Cgroup{}
}

// cgroupsAround are the cgroups of runs, of any instance, that this process is in, the innermost first; false
// when that cannot be told. The kernel could tell the innermost cgroup faster (PIDFD_GET_INFO); but a run
// can make others below its own.
func cgroupsAround(pid int) (around []Cgroup, ok bool) {
	innermost := cgroupFolder(strconv.Itoa(pid))
	for folder := innermost; len(folder) > 1; folder = filepath.Dir(folder) {
		if !strings.HasPrefix(filepath.Base(folder), "scv-") {
			continue
		}
		if c := (Cgroup{folder, inodeOf(folder)}); c.Inode != 0 { // else it is gone, and the process with it
			around = append(around, c)
		}
	}
	return around, innermost != ""
}

func inodeOf(path string) uint64 {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0
	}
	return st.Ino
}

// cgroupFolder is where the cgroup v2 of a process is in the file system, "" when that cannot be told.
func cgroupFolder(pid string) string {
	text, err := readInto("/proc/"+pid+"/cgroup", make([]byte, 4<<10))
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(text) {
		path, v2 := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte("0::"))
		if v2 {
			return cgroupMount().folder(string(path))
		}
	}
	return ""
}

// mount is where a part of the tree of cgroups is mounted.
type mount struct{ root, point string }

// cgroupMount is where cgroup v2 is mounted; beside version 1 that is not /sys/fs/cgroup.
var cgroupMount = sync.OnceValue(func() mount {
	text, err := readInto("/proc/self/mountinfo", make([]byte, 64<<10))
	if err != nil {
		return mount{}
	}
	return findMount(string(text))
})

// findMount looks for cgroup2 in lines like `40 30 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw`.
// The last one is on top.
func findMount(mountinfo string) (found mount) {
	for line := range strings.Lines(mountinfo) {
		where, what, ok := strings.Cut(line, " - ")
		at, kind := strings.Fields(where), strings.Fields(what)
		if ok && len(at) >= 5 && len(kind) > 0 && kind[0] == "cgroup2" {
			found = mount{root: octal(at[3]), point: octal(at[4])}
		}
	}
	return found
}

// octal undoes how mountinfo writes blanks and backslashes: \040.
func octal(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// folder is where a path of the tree is, "" when it is not in the mounted part. Nor is one that begins with
// ".." or was deleted.
func (m mount) folder(path string) string {
	inside, ok := strings.CutPrefix(path, strings.TrimSuffix(m.root, "/"))
	if m.point == "" || !ok || inside != "" && inside[0] != '/' || strings.HasSuffix(path, " (deleted)") ||
		slices.Contains(strings.Split(inside, "/"), "..") {
		return ""
	}
	return filepath.Join(m.point, inside)
}

// ours reports whether the folder may be used: it is a cgroup, the very one of the record, and we are
// not in it ourselves.
func (c Cgroup) ours() bool {
	m := cgroupMount()
	if c.Path == "" || m.point == "" || !strings.HasPrefix(c.Path, m.point+"/") {
		return false
	}
	inode := inodeOf(c.Path)
	if inode == 0 || c.Inode != 0 && inode != c.Inode {
		return false
	}
	own := cgroupFolder("self")
	return own != "" && own != c.Path && !strings.HasPrefix(own, c.Path+"/")
}

func (c Cgroup) below() (below []Cgroup) {
	entries, err := os.ReadDir(c.Path)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			below = append(below, Cgroup{Path: filepath.Join(c.Path, e.Name())})
		}
	}
	return below
}

// populated reports whether a process lives in the cgroup or below it.
func (c Cgroup) populated() bool {
	text, err := readOnce(filepath.Join(c.Path, "cgroup.events"), make([]byte, 256))
	return err == nil && bytes.Contains(text, []byte("populated 1"))
}

// make makes the folder. One that is there and empty is left from somebody who died.
func (c *Cgroup) make() error {
	if err := failpoint.Hit(failpoint.CgroupMake); err != nil {
		return err
	}
	err := unix.Mkdir(c.Path, 0o755)
	if errors.Is(err, unix.EEXIST) && c.remove() == nil {
		err = unix.Mkdir(c.Path, 0o755)
	}
	if err != nil {
		return err
	}
	c.Inode = inodeOf(c.Path)
	return nil
}

// kill ends all processes in the cgroup and below it, also those that are just being born.
func (c Cgroup) kill() error {
	if err := failpoint.Hit(failpoint.CgroupKill); err != nil {
		return err
	}
	fd, err := opened(func() (int, error) {
		return unix.Open(filepath.Join(c.Path, "cgroup.kill"), unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	})
	if err != nil {
		return goneOr(err)
	}
	defer closed(fd)
	_, err = unix.Write(fd, []byte("1"))
	return goneOr(err)
}

// remove removes the folder and those below it. One with a living process in it cannot be removed.
func (c Cgroup) remove() error {
	if err := failpoint.Hit(failpoint.CgroupRemove); err != nil {
		return err
	}
	err := unix.Rmdir(c.Path)
	if errors.Is(err, unix.EBUSY) {
		for _, below := range c.below() {
			_ = below.remove() // what is left shows in the next line
		}
		err = unix.Rmdir(c.Path)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// place is where a child is put when it is forked.
type place struct {
	cgroup Cgroup
	dir    *os.File // of it; nil: where we are
}

// enter makes a cgroup for a child. Where it cannot be made, the child comes to where we are: it is
// tied by less, and runs.
func enter(c Cgroup) *place {
	if c.Path == "" || c.make() != nil {
		return &place{}
	}
	dir, err := os.Open(c.Path)
	if err != nil {
		_ = c.remove()
		return &place{}
	}
	return &place{c, dir}
}

func (p *place) entered() bool { return p.dir != nil }

// attributes put the child into a session of its own, which makes its group too, and into the place. No
// Pdeathsig: it follows the thread that forked, not the process.
func (p *place) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if p.dir != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(p.dir.Fd())
	}
	return attr
}

// leave gives the place up: nobody came.
func (p *place) leave() {
	if p.dir != nil {
		p.close()
		_ = p.cgroup.remove()
		*p = place{}
	}
}

func (p *place) close() {
	if p.dir != nil {
		p.dir.Close()
	}
}
