package restart

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestOnlyFilesAreRead: whatever is where a program was, looking at it comes to an end. A rollback looks too,
// and takes what can be no program for what a person has put there.
func TestOnlyFilesAreRead(t *testing.T) {
	f, h := agreed(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o755), os.MkdirAll(filepath.Dir(h.Binary), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{pipe, "/dev/zero", t.TempDir()} {
		if err := os.Symlink(what, h.Binary); err != nil {
			t.Fatal(err)
		}
		ended := make(chan bool)
		go func() {
			defer close(ended)
			if sum, err := HashOf(h.Binary); err == nil {
				t.Errorf("%s has the hash %s", what, sum)
			}
			if done, err := f.putBack(h); err != nil || !done {
				t.Errorf("a rollback over %s: %v, %v", what, done, err)
			}
		}()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatalf("still reading %s", what)
		}
		if err := os.Remove(h.Binary); err != nil {
			t.Fatal(err)
		}
	}
}
