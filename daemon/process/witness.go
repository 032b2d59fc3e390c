package process

import "fmt"

// Witness watches one process that need not be our child.
type Witness struct {
	id    ID
	pidfd int // -1 where there is none
}

// Watch begins to watch the process that has this pid now.
func Watch(pid int) (*Witness, error) {
	fd, err := openPidfd(pid)
	if err != nil {
		return nil, fmt.Errorf("cannot watch process %d: %w", pid, err)
	}
	id, err := Lookup(pid) // after the pidfd: it names the same process, or one that has ended
	if err != nil {
		closePidfd(fd)
		return nil, err
	}
	return &Witness{id, fd}, nil
}

// ID is the process.
func (w *Witness) ID() ID { return w.id }

// Ended reports whether it has ended; a zombie has.
func (w *Witness) Ended() bool { return !w.id.Alive() }

// Close ends the watch.
func (w *Witness) Close() { closePidfd(w.pidfd) }
