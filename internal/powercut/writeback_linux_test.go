package powercut

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// writeback writes single pages of the store out before anybody asks, in any order, as a kernel does that
// is short of memory. Without it nothing would be on the disk but what was synced, and a store that syncs
// in the wrong order would look as good as one that does not.
type writeback struct {
	file *os.File
	stop chan struct{}
	done sync.WaitGroup
}

const (
	pageBytes     = 4096
	pagesAtOnce   = 16
	writebackRest = 50 * time.Microsecond
)

func startWriteback(d *disk) *writeback {
	d.t.Helper()
	file, err := os.Open(filepath.Join(d.dir, "scv.db"))
	must(d.t, err)
	w := &writeback{file: file, stop: make(chan struct{})}
	w.done.Go(w.run)
	return w
}

func (w *writeback) run() {
	for {
		info, err := w.file.Stat()
		if err != nil {
			return
		}
		for range pagesAtOnce {
			page := rand.Int64N(info.Size() / pageBytes)
			if unix.SyncFileRange(int(w.file.Fd()), page*pageBytes, pageBytes, unix.SYNC_FILE_RANGE_WRITE) != nil {
				return // there is no power
			}
		}
		select {
		case <-w.stop:
			return
		case <-time.After(writebackRest):
		}
	}
}

// end stops it and lets go of the disk.
func (w *writeback) end() {
	close(w.stop)
	w.done.Wait()
	w.file.Close()
}
