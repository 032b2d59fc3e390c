package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"

	"golang.org/x/sys/unix"
)

// bbolt begins with two meta pages, each a 16 byte page header and these 64 bytes, in the machine's own
// byte order (bbolt/internal/common/meta.go).
const (
	metaAt      = 16
	metaLen     = 64
	metaMagic   = 0xED0CDAED
	minPageSize = 1024
)

type boltMeta struct {
	pageSize uint32
	root     uint64 // page of the tree of buckets
	freelist uint64 // page of the list of free pages; all ones when there is none
	pages    uint64 // the high-water mark
	txid     uint64
}

// openFile opens a file that is there, and nothing else that has its name. It waits for nobody: a pipe would keep
// us until somebody writes to it, deaf to every bound.
func openFile(path string, flag int) (*os.File, error) {
	file, err := os.OpenFile(path, flag|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open the store: %w", err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("cannot examine the store: %w", err)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("cannot open the store %q: it is not a file", path)
	default:
		return file, nil
	}
	return nil, errors.Join(err, file.Close())
}

// checkSize refuses a file that was cut off so early that bbolt's own words mislead, or would make an
// empty one a new store.
func checkSize(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("cannot examine the store: %w", err)
	}
	if least := int64(2 * os.Getpagesize()); info.Size() < least {
		return fmt.Errorf("cannot open the store %q: %w: it has %d bytes and the least is %d",
			file.Name(), ErrDamaged, info.Size(), least)
	}
	return nil
}

// checkHeader refuses a file that is shorter than its newest meta page says: bbolt would map pages that
// are not there, and reading one kills the process.
func checkHeader(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("cannot examine the store: %w", err)
	}
	meta, ok := newestMeta(file)
	if !ok {
		return nil // bbolt says what is wrong with them
	}
	if need := meta.pages * uint64(meta.pageSize); uint64(info.Size()) < need {
		return fmt.Errorf("cannot open the store %q: %w: it was cut off at %d of %d bytes",
			file.Name(), ErrDamaged, info.Size(), need)
	}
	return nil
}

func newestMeta(file *os.File) (newest boltMeta, ok bool) {
	first, ok := readMetaPage(file, 0)
	second := int64(os.Getpagesize())
	if ok {
		newest, second = first, int64(first.pageSize)
	}
	if m, valid := readMetaPage(file, second); valid && (!ok || m.txid > newest.txid) {
		newest, ok = m, true
	}
	return newest, ok
}

func readMetaPage(file *os.File, offset int64) (m boltMeta, ok bool) {
	var raw [metaLen]byte
	if _, err := file.ReadAt(raw[:], offset+metaAt); err != nil {
		return m, false
	}
	order := binary.NativeEndian
	sum := fnv.New64a()
	_, _ = sum.Write(raw[:56]) // a hash never fails
	if order.Uint32(raw[0:]) != metaMagic || order.Uint64(raw[56:]) != sum.Sum64() {
		return m, false
	}
	m = boltMeta{
		pageSize: order.Uint32(raw[8:]),
		root:     order.Uint64(raw[16:]),
		freelist: order.Uint64(raw[32:]),
		pages:    order.Uint64(raw[40:]),
		txid:     order.Uint64(raw[48:]),
	}
	return m, m.pageSize >= minPageSize
}
