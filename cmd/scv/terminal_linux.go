package main

import "golang.org/x/sys/unix"

const (
	getMode, setMode = unix.TCGETS, unix.TCSETSW
	noKey            = 0 // in a terminal's table of keys
	// longestTyped is how many bytes of a line the kernel keeps where it edits lines itself.
	longestTyped = 4095
)
