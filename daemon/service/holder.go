package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"scv/daemon/lock"
	"scv/daemon/process"
	"scv/internal/layout"
)

// Holder is a daemon that holds a home, whoever keeps it running.
type Holder struct {
	PID     int
	StandIn bool // it serves because a restart went wrong and nobody else did
	id      process.ID
}

// HolderOf is who holds a home now.
func HolderOf(home string) (h Holder, held bool) {
	said, err := lock.Read(filepath.Join(home, layout.Lock))
	if err != nil || said.PID == 0 || said.Role != lock.Daemon && said.Role != lock.StandIn || !said.Alive() {
		return h, false
	}
	id, err := process.Lookup(said.PID)
	if err != nil || said.Start != 0 && id.Start != said.Start {
		return h, false
	}
	return Holder{PID: said.PID, StandIn: said.Role == lock.StandIn, id: id}, true
}

const (
	endLimit = 20 * time.Second // a daemon promises to stop within 8 s
	endPoll  = 20 * time.Millisecond
)

// End asks this very daemon to stop, by SIGTERM, and waits for its end.
func (h Holder) End(ctx context.Context) error {
	if err := process.Terminate(h.id); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot ask process %d to stop: %w", h.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	for h.id.Alive() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d was asked to stop and is still there", h.PID)
		case <-time.After(endPoll):
		}
	}
	return nil
}
