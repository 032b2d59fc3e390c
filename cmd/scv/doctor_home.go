package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"scv/internal/layout"
)

// lowDisk is little room for a store that must grow, and for what agents print.
const lowDisk = 256 << 20

// lookAtHome looks at the folder, at who may enter it, and at how much room there is.
func (p *patient) lookAtHome() []finding {
	info, err := os.Stat(p.home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []finding{{"home", shaky, p.home + " does not exist yet", "the first start makes it: " + p.a.command("run")}}
	case err != nil:
		return []finding{{"home", broke, "cannot look at it: " + err.Error(), "make it readable, or name another with --home"}}
	case !info.IsDir():
		return []finding{{"home", broke, p.home + " is not a folder", "name another with --home, or move it away"}}
	}
	p.closed = unix.Access(p.home, unix.R_OK|unix.X_OK) != nil
	found := []finding{{"home", fine, p.home, ""}}
	return append(append(found, p.lookAtModes(info)...), p.lookAtDisk())
}

// private are the files of a home that nobody else may read, whatever the folder allows.
var private = []string{layout.Store, layout.Lock, "credentials", layout.Logs, layout.Media}

func (p *patient) lookAtModes(info fs.FileInfo) []finding {
	var found []finding
	chmod := func(path string, mode fs.FileMode, state health) {
		found = append(found, finding{"permissions", state, fmt.Sprintf("others may use %s (mode %04o)", path, mode.Perm()), "chmod go= " + shellWord(path)})
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		found = append(found, finding{
			"permissions", broke, fmt.Sprintf("the home belongs to user %d, and you are %d", stat.Uid, os.Geteuid()),
			"work as that user, or name another home with --home",
		})
	}
	switch open := info.Mode().Perm()&0o077 != 0; { // a daemon does not start in such a folder
	case open && p.looksLikeOurs():
		chmod(p.home, info.Mode(), broke)
	case open:
		found = append(found, finding{
			"permissions", broke, p.home + " does not look like a home of scv, and others may enter it",
			"name a folder of its own with --home or SCV_HOME",
		})
	}
	for _, name := range private {
		path := filepath.Join(p.home, name)
		if file, err := os.Lstat(path); err == nil && file.Mode().Perm()&0o077 != 0 {
			chmod(path, file.Mode(), shaky)
		}
	}
	if found == nil {
		found = []finding{{"permissions", fine, "yours alone", ""}}
	}
	return found
}

// looksLikeOurs keeps us from advising anybody to close a folder that is no home, such as /tmp.
func (p *patient) looksLikeOurs() bool {
	entries, err := os.ReadDir(p.home)
	ours := []string{layout.Store, layout.Lock, "config.toml"}
	return err == nil && (len(entries) == 0 || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return slices.Contains(ours, e.Name()) }))
}

func (p *patient) lookAtDisk() finding {
	var s unix.Statfs_t
	if err := unix.Statfs(p.home, &s); err != nil {
		return finding{"disk", shaky, "cannot tell how full it is: " + err.Error(), ""}
	}
	free := uint64(s.Bavail) * uint64(s.Bsize)
	switch room := fmt.Sprintf("%d MiB are free", free>>20); {
	case readOnly(s):
		return finding{"disk", broke, "it is mounted read-only", "mount it writable; until then nothing can be stored"}
	case free == 0:
		return finding{"disk", broke, "it is full", "make room; a running daemon goes on by itself then"}
	case free < lowDisk:
		return finding{"disk", shaky, room, "make room before it is full"}
	default:
		return finding{"disk", fine, room, ""}
	}
}

// lookAtLock compares who holds the home with who answers.
func (p *patient) lookAtLock() []finding {
	path := filepath.Join(p.home, layout.Lock)
	holder, known, err := flockHolder(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && p.pid == 0:
		return []finding{{"lock", fine, "nobody has served this home yet", ""}}
	case err != nil:
		return []finding{{"lock", broke, "cannot look at it: " + err.Error(), "stop the daemon (SIGTERM) and start it again: " + p.a.command("run")}}
	case !known:
		return []finding{{"lock", fine, "who holds it cannot be seen on this system", ""}}
	case holder == int(p.pid) && p.pid != 0:
		return []finding{{"lock", fine, fmt.Sprintf("held by the daemon, pid %d", holder), ""}}
	case holder == 0 && p.pid == 0:
		return []finding{{"lock", fine, "free", ""}}
	case holder == 0:
		return []finding{{
			"lock", broke, fmt.Sprintf("the daemon (pid %d) answers and does not hold it: somebody replaced the file", p.pid),
			fmt.Sprintf("end pid %d and start it again: %s", p.pid, p.a.command("run")),
		}}
	}
	return []finding{{
		"lock", broke, fmt.Sprintf("pid %d holds the home and does not answer here", holder),
		fmt.Sprintf("see %s; if it stays so, end pid %d and start again: %s", p.a.command("logs"), holder, p.a.command("run")),
	}}
}

// lookAtLog looks whether the daemon can keep its log.
func (p *patient) lookAtLog() []finding {
	files := layout.LogFiles(p.home)
	info, err := os.Lstat(files[1])
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []finding{{"log", fine, "none yet", ""}}
	case err != nil:
		return []finding{{"log", shaky, "cannot look at it: " + err.Error(), "a running daemon makes it anew once it is out of the way"}}
	case !info.Mode().IsRegular():
		return []finding{{"log", shaky, files[1] + " is no file, so nothing is kept", "remove it; a running daemon makes it anew"}}
	}
	size := info.Size()
	if older, err := os.Lstat(files[0]); err == nil {
		size += older.Size()
	}
	return []finding{{"log", fine, fmt.Sprintf("%d KiB, see %s", size>>10, p.a.command("logs")), ""}}
}
