package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Bracketed paste: the terminal marks what is pasted.
const pasteOn, pasteOff = "\x1b[?2004h", "\x1b[?2004l"

// keysAtOnce makes a terminal hand over every key as it is pressed and show none. Ctrl-C and Ctrl-Z keep
// their meaning; Ctrl-\ has none, since it would end the process without the terminal being put back.
func keysAtOnce(fd int) (before *unix.Termios, err error) {
	if before, err = unix.IoctlGetTermios(fd, getMode); err != nil {
		return nil, fmt.Errorf("cannot ask the terminal for its mode: %w", err)
	}
	mode := *before
	mode.Lflag &^= unix.ICANON | unix.ECHO | unix.IEXTEN
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME], mode.Cc[unix.VQUIT] = 1, 0, noKey
	if err = unix.IoctlSetTermios(fd, setMode, &mode); err != nil {
		return nil, fmt.Errorf("cannot set the terminal's mode: %w", err)
	}
	return before, nil
}

// openEditor makes the terminal that is read by keys an editor that shows itself on stdout. The function
// it returns puts the terminal back; it may be called from anywhere and again.
func (a *app) openEditor(keys *os.File) (*editor, func(), error) {
	fd := int(keys.Fd())
	before, err := keysAtOnce(fd)
	if err != nil {
		return nil, nil, err
	}
	e := newEditor(a.stdout, func() int {
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			return width
		}
		return 80
	})
	changes, watched := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(changes, syscall.SIGCONT, syscall.SIGWINCH)
	go func() {
		defer close(watched)
		for s := range changes {
			if s == syscall.SIGCONT { // the shell had the terminal meanwhile
				_, _ = keysAtOnce(fd) // a terminal that is gone ends the reading
			}
			e.show()
		}
	}()
	e.show()
	return e, sync.OnceFunc(func() {
		signal.Stop(changes)
		close(changes)
		<-watched
		e.close()
		_ = unix.IoctlSetTermios(fd, setMode, before) // a terminal that is gone needs no mode
	}), nil
}
