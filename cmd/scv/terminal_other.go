//go:build !linux

package main

import "golang.org/x/sys/unix"

const (
	getMode, setMode = unix.TIOCGETA, unix.TIOCSETAW
	noKey            = 0xff // in a terminal's table of keys
	// longestTyped is how many bytes of a line the kernel keeps where it edits lines itself.
	longestTyped = 1023
)
