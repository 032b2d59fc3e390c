package process

import (
	"bytes"
	"errors"
	"strconv"

	"scv/internal/clock"
)

// image tells one program of a process from the next: where the kernel put its arguments and its
// environment (fields 48 to 51 of stat). It is random for each exec. All zero when the process has no
// memory (a zombie, a kernel thread) or we may not look into it; its environment cannot be read then either.
type image [4]uint64

// Fields of /proc/pid/stat, counted from the first after the name.
const (
	fieldState, fieldPPID, fieldPGID, fieldSID = 0, 1, 2, 3
	fieldThreads                               = 17 // field 20 of proc(5)
	fieldStart                                 = 19 // field 22
	fieldArgStart                              = 45 // field 48; the four follow each other
)

var errMalformed = errors.New("malformed /proc stat line")

// parseStat takes a stat line apart. The name in parentheses may itself hold spaces and parentheses,
// so everything is counted from the last one.
func parseStat(line []byte) (Proc, image, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return Proc{}, image{}, errMalformed
	}
	field, err := splitStat(line[end+1:])
	if err != nil {
		return Proc{}, image{}, err
	}
	n := numbers{}
	p := Proc{
		ID:   ID{PID: n.int(line[:open-1]), Start: n.uint(field[fieldStart]), Boot: clock.BootID()},
		PPID: n.int(field[fieldPPID]), PGID: n.int(field[fieldPGID]), SID: n.int(field[fieldSID]),
		State: field[fieldState][0], Threads: n.int(field[fieldThreads]), Name: string(line[open+1 : end]),
	}
	var img image
	for i := range img {
		img[i] = n.uint(field[fieldArgStart+i])
	}
	return p, img, n.err
}

// splitStat is the fields up to the last one that is used. The array stays off the heap: a look at thousands
// of processes would leave megabytes of garbage.
func splitStat(rest []byte) (field [fieldArgStart + 4][]byte, err error) {
	i := 0
	for f := range bytes.FieldsSeq(rest) {
		field[i] = f
		if i++; i == len(field) {
			return field, nil
		}
	}
	return field, errMalformed
}

// numbers parses and keeps the first error.
type numbers struct{ err error }

func (n *numbers) uint(b []byte) uint64 {
	v, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil && n.err == nil {
		n.err = errMalformed
	}
	return v
}

func (n *numbers) int(b []byte) int {
	v, err := strconv.Atoi(string(b))
	if err != nil && n.err == nil {
		n.err = errMalformed
	}
	return v
}
