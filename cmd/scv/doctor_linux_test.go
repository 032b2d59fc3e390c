package main

import "testing"

func TestHolderIn(t *testing.T) {
	const list = `1: POSIX  ADVISORY  WRITE 100 08:01:42 0 EOF
2: FLOCK  ADVISORY  WRITE 4242 08:01:131073 0 EOF
2: -> FLOCK  ADVISORY  WRITE 99 08:01:77 0 EOF
3: FLOCK  ADVISORY  WRITE -1 08:01:55 0 EOF
`
	for inode, want := range map[uint64]int{131073: 4242, 31073: 0, 42: 0, 77: 0, 55: 0} {
		if got := holderIn(list, inode); got != want {
			t.Errorf("inode %d is held by %d, want %d", inode, got, want)
		}
	}
}
