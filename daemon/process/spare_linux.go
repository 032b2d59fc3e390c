package process

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// To look at a process and to signal it takes a descriptor for a moment. A daemon that has none left must
// still be able to stop what runs, so it keeps some for that.

const spareDescriptors = 8

// spares are the descriptors kept, all of /dev/null, which null opens too. None in a program that is no daemon.
var spares struct {
	sync.Mutex
	null int
	held []int
}

// KeepSpares makes sure of descriptors for the looks and the signals of this process. It is called once.
func KeepSpares() error {
	spares.Lock()
	defer spares.Unlock()
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot keep descriptors for kills: %w", err)
	}
	spares.null = null
	for range spareDescriptors {
		fd, err := unix.FcntlInt(uintptr(null), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("cannot keep descriptors for kills: %w", err)
		}
		spares.held = append(spares.held, fd)
	}
	return nil
}

// opened is the descriptor that open makes; where there is none left, one in the place of a spare.
func opened(open func() (int, error)) (int, error) {
	fd, err := open()
	for (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)) && giveSpare() {
		fd, err = open() // somebody else may have been faster
	}
	return fd, err
}

func giveSpare() bool {
	spares.Lock()
	defer spares.Unlock()
	last := len(spares.held) - 1
	if last < 0 {
		return false
	}
	_ = unix.Close(spares.held[last])
	spares.held = spares.held[:last]
	return true
}

// closed ends a descriptor of opened. Where spares are missing it becomes one, in one step: nobody else
// can take it in between.
func closed(fd int) {
	spares.Lock()
	defer spares.Unlock()
	if spares.null > 0 && len(spares.held) < spareDescriptors && unix.Dup3(spares.null, fd, unix.O_CLOEXEC) == nil {
		spares.held = append(spares.held, fd)
		return
	}
	_ = unix.Close(fd)
}
