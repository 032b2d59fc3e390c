package restart

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"scv/daemon/process"
	"scv/internal/durable"
	"scv/internal/failpoint"
	"scv/internal/layout"
)

// What a hand-over is stands in files beside the store, because it must be read before the store is opened.
// The state is which of them are there; docs/restart.md draws it. Each appears whole: written aside, synced,
// renamed, the folder synced.
const (
	fileHandover = "handover.json" // the hand-over; while it is there, one is under way
	fileOld      = "old"           // the program that was running when it was agreed
	fileSnap     = "store.snap"    // the store as the old release left it, where the new one changes its schema
	fileBoots    = "boots"         // one digit: starts of the new release without a verdict
	fileBeat     = "beat"          // the new release's sign of life
	fileVerdict  = "verdict"       // one of the next three, linked
	fileOK       = "ok"
	fileBack     = "back"
	fileBackBy   = "back-guard"
	fileGuard    = "guard.lock" // held by the guard
	fileStopped  = "stopped"    // the new release was told to stop before its verdict
	fileAccounts = "accounts"   // those that were connected under the old release
	fileEvents   = "guard.log"  // what the guard did
)

// Folder is where the files of a hand-over stand.
type Folder struct{ home, path string }

// In is the folder of a home.
func In(home string) Folder { return Folder{home, filepath.Join(home, layout.Restart)} }

func (f Folder) join(name string) string { return filepath.Join(f.path, name) }

// store is the home's store.
func (f Folder) store() string { return filepath.Join(f.home, layout.Store) }

// lock is the home's lock.
func (f Folder) lock() string { return filepath.Join(f.home, layout.Lock) }

// Release is one program that can serve a home.
type Release struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitzero"`
	Schema  uint64 `json:"schema"` // newest store schema that it reads
	SHA256  string `json:"sha256"` // hex
}

// Handover is what both releases and the guard must know. It is never edited.
type Handover struct {
	Plan    string     `json:"plan"`
	Binary  string     `json:"binary"`        // absolute, as the daemon was started by it
	Link    string     `json:"link,omitzero"` // what it said, as a symbolic link, while it led to the old release
	Args    []string   `json:"args"`          // of the daemon, its name among them
	Dir     string     `json:"dir"`           // where it runs
	Old     Release    `json:"old"`
	New     Release    `json:"new"`
	Manager process.ID `json:"manager,omitzero"` // starts the daemon again when it ends; zero for none
}

// Moves reports whether the new release changes the store's schema. Then nothing is acknowledged before
// the verdict, and a rollback puts the store back.
func (h Handover) Moves() bool { return h.New.Schema != h.Old.Schema }

// Read is the hand-over that is under way, if one is.
func (f Folder) Read() (h Handover, under bool, err error) {
	b, err := os.ReadFile(f.join(fileHandover))
	if errors.Is(err, fs.ErrNotExist) {
		return h, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &h)
	}
	if err != nil {
		return h, false, fmt.Errorf("cannot read the hand-over: %w", err)
	}
	return h, true, nil
}

// Begin writes down a hand-over and keeps the running program, so that from now on every start knows of it.
// One that was agreed before and has not begun is replaced.
func (f Folder) Begin(h Handover, running string) error {
	if err := f.begin(h, running); err != nil {
		return fmt.Errorf("cannot prepare the restart: %w", err)
	}
	return nil
}

func (f Folder) begin(h Handover, running string) error {
	if err := os.Mkdir(f.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, under, _ := f.Read(); !under {
		if err := f.clear(); err != nil {
			return err
		}
	}
	old := func(to *os.File) error { return copyInto(to, running) }
	if err := f.place(fileOld, failpoint.RestartOld, 0o700, old); err != nil {
		return err
	}
	// Room on the disk is taken now: none may be left when these are needed.
	for _, file := range []struct{ name, text string }{
		{fileBoots, "0\n"}, {fileOK, saysOK + "\n"}, {fileBack, blank}, {fileBackBy, blank}, {fileBeat, blank},
	} {
		if err := f.place(file.name, failpoint.RestartFile, 0o600, writing(file.text)); err != nil {
			return err
		}
	}
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return f.place(fileHandover, failpoint.RestartHandover, 0o600, writing(string(b)+"\n"))
}

// End forgets the hand-over. Its own file goes first: without it nothing is under way, whatever is left.
func (f Folder) End() error {
	if err := failpoint.Hit(failpoint.RestartEnd); err != nil {
		return err
	}
	err := os.Remove(f.join(fileHandover))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot end the hand-over: %w", err)
	}
	if err := durable.SyncDir(f.path); err != nil {
		return fmt.Errorf("cannot end the hand-over: %w", err)
	}
	return f.clear()
}

// Tidy removes what a crash has left of a hand-over that was not agreed, or is over. The caller holds the lock.
func (f Folder) Tidy() error {
	if _, err := os.Lstat(f.join(fileHandover)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return f.clear()
}

// clear removes what is left of a hand-over that is none any more.
func (f Folder) clear() error {
	entries, err := os.ReadDir(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot clear up after a restart: %w", err)
	}
	for _, e := range entries {
		if e.Name() == fileEvents {
			continue
		}
		err := failpoint.Hit(failpoint.RestartClear)
		if err == nil {
			err = os.RemoveAll(f.join(e.Name()))
		}
		if err != nil {
			return fmt.Errorf("cannot clear up after a restart: %w", err)
		}
	}
	return nil
}

// blank is the room of a beat, or of a verdict with its reason.
var blank = string(make([]byte, 512))

func writing(text string) func(*os.File) error {
	return func(to *os.File) error {
		_, err := to.WriteString(text)
		return err
	}
}

func copyInto(to *os.File, from string) error {
	in, err := openFile(from)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(to, in)
	return err
}

// place makes a file of the folder, whole or not at all. point is passed just before it appears.
func (f Folder) place(name, point string, mode fs.FileMode, fill func(*os.File) error) error {
	return durable.Place(f.join(name), point, mode, fill)
}

// maxEvents bounds what guards wrote down of earlier restarts.
const maxEvents = 64 << 10

// Events is where a guard writes down what it does.
func (f Folder) Events() (*os.File, error) {
	path := f.join(fileEvents)
	if info, err := os.Stat(path); err == nil && info.Size() > maxEvents {
		_ = os.Remove(path) // a longer log is better than none
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot write down what the guard does: %w", err)
	}
	return file, nil
}
