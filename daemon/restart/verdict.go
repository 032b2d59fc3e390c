package restart

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"scv/internal/durable"
	"scv/internal/failpoint"
)

// Verdict says whether the new release stays. It is given once, by the guard or by the daemon itself: the
// first one stands, and everybody obeys it.
type Verdict struct {
	OK  bool
	Why string // it is rolled back; a sentence without its point
}

const (
	saysOK   = "ok"
	saysBack = "rollback: "
	maxWhy   = 400 // bytes
)

// Verdict is the one that stands, if one does.
func (f Folder) Verdict() (v Verdict, given bool) {
	b, err := os.ReadFile(f.join(fileVerdict))
	if err != nil {
		return v, false
	}
	text := strings.TrimRight(string(b), "\x00\n")
	why, back := strings.CutPrefix(text, saysBack)
	return Verdict{OK: text == saysOK, Why: why}, text == saysOK || back
}

// side is who gives a verdict; each has a file of its own for it.
type side string

const (
	byDaemon side = fileBack
	byGuard  side = fileBackBy
)

// give gives a verdict and returns the one that stands.
func (f Folder) give(v Verdict, by side) (Verdict, error) {
	name := fileOK
	if !v.OK {
		name = string(by)
		if err := f.fillBack(name, v.Why); err != nil {
			return v, err
		}
	}
	if err := failpoint.Hit(failpoint.RestartVerdict); err != nil {
		return v, err
	}
	err := os.Link(f.join(name), f.join(fileVerdict))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return v, fmt.Errorf("cannot give the verdict: %w", err)
	}
	if err := durable.SyncDir(f.path); err != nil {
		return v, fmt.Errorf("cannot give the verdict: %w", err)
	}
	stands, given := f.Verdict()
	if !given {
		return v, errors.New("cannot read the verdict just given")
	}
	return stands, nil
}

// fillBack writes a reason into a verdict that is not given yet. Once it is, this file is it: nothing
// may be written then.
func (f Folder) fillBack(name, why string) error {
	if _, given := f.Verdict(); given {
		return nil
	}
	why = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, why)
	if len(why) > maxWhy {
		why = strings.ToValidUTF8(why[:maxWhy], "") + "…"
	}
	text := make([]byte, len(blank))
	copy(text, saysBack+why+"\n")
	file, err := os.OpenFile(f.join(name), os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = file.WriteAt(text, 0)
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err != nil {
		return fmt.Errorf("cannot write the verdict: %w", err)
	}
	return nil
}

// countStart counts one more start of the new release without a verdict.
func (f Folder) countStart() (int, error) {
	n := f.starts() + 1
	return n, f.setStarts(n)
}

// takeBack makes a start not count: it was stopped on purpose.
func (f Folder) takeBack() error { return f.setStarts(max(f.starts()-1, 0)) }

// starts is 0 where nothing can be read: the file comes with the hand-over.
func (f Folder) starts() int {
	b, err := os.ReadFile(f.join(fileBoots))
	if err != nil || len(b) == 0 || b[0] < '0' || b[0] > '9' {
		return 0
	}
	return int(b[0] - '0')
}

// setStarts writes one byte in place, which is there as a whole or not, and needs no room on the disk.
func (f Folder) setStarts(n int) error {
	if err := failpoint.Hit(failpoint.RestartBoots); err != nil {
		return err
	}
	file, err := os.OpenFile(f.join(fileBoots), os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = file.WriteAt([]byte{byte('0' + min(n, 9))}, 0)
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err != nil {
		return fmt.Errorf("cannot count a start: %w", err)
	}
	return nil
}

// NoteStopped says that the daemon was told to stop, so that its end is no crash.
func (f Folder) NoteStopped() error {
	if err := f.place(fileStopped, failpoint.RestartFile, 0o600, writing("")); err != nil {
		return fmt.Errorf("cannot note the stop: %w", err)
	}
	return nil
}

// stopped reports whether the daemon was told to stop.
func (f Folder) stopped() bool {
	_, err := os.Stat(f.join(fileStopped))
	return err == nil
}

// started takes the note away again.
func (f Folder) started() {
	_ = os.Remove(f.join(fileStopped)) // one that stays only makes the next guard milder
}
