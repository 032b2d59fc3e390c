package main

import (
	"strings"
	"unicode/utf8"
)

// Keys that are no character. A cursor key is the control character that does the same in most editors.
const (
	keyNone       rune = -1 - iota // to be ignored
	keyDelete                      // to the right
	keyPasteStart                  // what follows is pasted
	keyPasteEnd
)

// ctrl is the character of a letter typed with the control key.
func ctrl(letter rune) rune { return letter & 0x1f }

// sequences are the keys that send more than one character, without what starts them.
var sequences = map[string]rune{
	"A": ctrl('p'), "B": ctrl('n'), "C": ctrl('f'), "D": ctrl('b'),
	"H": ctrl('a'), "1~": ctrl('a'), "7~": ctrl('a'),
	"F": ctrl('e'), "4~": ctrl('e'), "8~": ctrl('e'),
	"3~": keyDelete, "200~": keyPasteStart, "201~": keyPasteEnd,
}

// longestSequence bounds what is waited for after an escape.
const longestSequence = 32

// nextKey is the first key of b and its size, which is 0 where b does not hold a whole one.
func nextKey(b []byte) (k rune, size int) {
	switch {
	case len(b) == 0 || !utf8.FullRune(b):
		return keyNone, 0
	case b[0] != 0x1b:
		return utf8.DecodeRune(b)
	case len(b) == 1:
		return keyNone, 0
	case b[1] != '[' && b[1] != 'O':
		return keyNone, 1 // an escape alone, or Alt with a key: the key counts
	}
	end := strings.IndexFunc(string(b[2:min(len(b), longestSequence)]), func(r rune) bool { return r < ' ' || r > '?' })
	switch {
	case end < 0 && len(b) < longestSequence:
		return keyNone, 0
	case end < 0:
		return keyNone, 1
	}
	size = 2 + end + 1
	if k, known := sequences[string(b[2:size])]; known {
		return k, size
	}
	if b[size-1] < '@' || b[size-1] > '~' { // broken off
		size--
	}
	return keyNone, size
}
