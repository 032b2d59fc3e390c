package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// A dump reads the pages of a file by itself: bbolt maps the file, and then a damaged one can kill or hang
// the process. Every page is looked at a few times at most, and every length is held against what is there,
// so that no damage leads anywhere else. The layout is that of bbolt/internal/common: page.go, meta.go.

// The head of a page: its number, flags, count of elements, and how many pages follow it as its body.
const (
	pageHead     = 16
	elementSize  = 16
	bucketHead   = 16 // root page and sequence; the page itself follows when the root is 0
	branchPage   = 0x01
	leafPage     = 0x02
	freePage     = 0x10
	bucketFlag   = 0x01
	longFreeList = 0xFFFF // the count stands in the first entry
	maxDepth     = 64     // bbolt's trees of any size have a few levels
	maxVisits    = 3      // of a page: a wild pointer may lead to one that another rightly leads to
)

// pages reads a store file page by page.
type pages struct {
	file   *os.File
	size   uint64 // of a page
	count  uint64 // of whole pages in the file
	seen   map[uint64]bool
	visits map[uint64]visit
	faults problems
}

// visit is how often a page was read, and how many pages follow it as its body.
type visit struct {
	times int
	body  uint64
}

// element is an entry of a leaf: a record, or a bucket.
type element struct {
	key, value []byte
	bucket     bool
}

func newPages(file *os.File, size uint32) (*pages, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot examine the store: %w", err)
	}
	return &pages{file: file, size: uint64(size), count: uint64(info.Size()) / uint64(size), seen: map[uint64]bool{}, visits: map[uint64]visit{}}, nil
}

// read gives a whole page with its body.
func (p *pages) read(id uint64) ([]byte, error) {
	if id < 2 || id >= p.count {
		return nil, errors.New("it is outside the file")
	}
	head := make([]byte, pageHead)
	if _, err := p.file.ReadAt(head, int64(id*p.size)); err != nil {
		return nil, err
	}
	overflow := uint64(binary.NativeEndian.Uint32(head[12:]))
	switch {
	case binary.NativeEndian.Uint64(head) != id:
		return nil, errors.New("it does not begin with its number")
	case overflow >= p.count-id:
		return nil, errors.New("it ends outside the file")
	}
	v := p.visits[id]
	switch {
	case v.times == 0 && p.seen[id]:
		return nil, errors.New("it is the body of another")
	case v.times == maxVisits:
		return nil, errors.New("too much leads to it")
	case v.times > 0:
		p.faults.add("page %d: it was there before", id)
	default:
		v.body = p.body(id, overflow)
	}
	v.times++
	p.visits[id] = v
	page := make([]byte, (1+v.body)*p.size)
	if _, err := p.file.ReadAt(page, int64(id*p.size)); err != nil {
		return nil, err
	}
	return page, nil
}

// body is how many of the pages that a page takes for its body are none of their own, and notes that all were
// seen.
func (p *pages) body(id, overflow uint64) uint64 {
	p.seen[id] = true
	for n := id + 1; n <= id+overflow; n++ {
		if p.seen[n] || p.isHead(n) { // the length is damaged, and must not hide others
			p.faults.add("page %d: it runs into page %d", id, n)
			return n - id - 1
		}
		p.seen[n] = true
	}
	return overflow
}

// isHead reports whether a page begins as one of the tree: no body of another does, but by rare chance.
func (p *pages) isHead(id uint64) bool {
	head := make([]byte, pageHead)
	if _, err := p.file.ReadAt(head, int64(id*p.size)); err != nil {
		return false
	}
	flags := binary.NativeEndian.Uint16(head[8:])
	return binary.NativeEndian.Uint64(head) == id && (flags == leafPage || flags == branchPage || flags == freePage)
}

// walk gives the elements of every leaf below a page. What cannot be read becomes a fault.
func (p *pages) walk(id uint64, depth int, each func(element) error) error {
	page, err := p.read(id)
	if err == nil && depth > maxDepth {
		err = errors.New("it lies too deep")
	}
	if err != nil {
		p.faults.add("page %d: %w", id, err)
		return nil
	}
	switch flags := binary.NativeEndian.Uint16(page[8:]); flags {
	case leafPage:
		return p.leaf(id, page, each)
	case branchPage:
		for _, child := range p.children(id, page) {
			if err := p.walk(child, depth+1, each); err != nil {
				return err
			}
		}
	default:
		p.faults.add("page %d: its kind is %#x", id, flags)
	}
	return nil
}

// span cuts a piece out of a page, or reports that it is not all there.
func span(page []byte, at, length uint64) ([]byte, bool) {
	end := at + length // of values below 2^33, so it cannot wrap
	if at < pageHead || end > uint64(len(page)) {
		return nil, false
	}
	return page[at:end:end], true
}

func (p *pages) children(id uint64, page []byte) (ids []uint64) {
	for n := range uint64(binary.NativeEndian.Uint16(page[10:])) {
		raw, ok := span(page, pageHead+n*elementSize, elementSize)
		if !ok {
			p.faults.add("page %d: it has no room for its elements", id)
			return ids
		}
		ids = append(ids, binary.NativeEndian.Uint64(raw[8:]))
	}
	return ids
}

// leaf gives the elements of one leaf page.
func (p *pages) leaf(id uint64, page []byte, each func(element) error) error {
	for n := range uint64(binary.NativeEndian.Uint16(page[10:])) {
		at := pageHead + n*elementSize
		raw, ok := span(page, at, elementSize)
		if !ok {
			p.faults.add("page %d: it has no room for its elements", id)
			return nil
		}
		e := element{bucket: binary.NativeEndian.Uint32(raw)&bucketFlag != 0}
		pos, keyLen, valueLen := uint64(binary.NativeEndian.Uint32(raw[4:])), uint64(binary.NativeEndian.Uint32(raw[8:])), uint64(binary.NativeEndian.Uint32(raw[12:]))
		var whole bool
		e.key, ok = span(page, at+pos, keyLen)
		e.value, whole = span(page, at+pos+keyLen, valueLen)
		if !ok || !whole {
			p.faults.add("page %d: its element %d ends outside", id, n)
			continue
		}
		if err := each(e); err != nil {
			return err
		}
	}
	return nil
}

// records gives the elements of a bucket, which may lie within its own entry.
func (p *pages) records(name string, bucket []byte, each func(element) error) error {
	if len(bucket) < bucketHead {
		p.faults.add("bucket %s: its head is cut off", name)
		return nil
	}
	if root := binary.NativeEndian.Uint64(bucket); root != 0 {
		return p.walk(root, 0, each)
	}
	page := bucket[bucketHead:]
	if len(page) < pageHead || !isLeaf(page) {
		p.faults.add("bucket %s: it is no leaf", name)
		return nil
	}
	return p.leaf(0, page, each)
}

// isLeaf reports whether a page is a leaf.
func isLeaf(page []byte) bool { return binary.NativeEndian.Uint16(page[8:]) == leafPage }

// free reads which pages hold nothing that counts.
func (p *pages) free(id uint64) (free map[uint64]bool) {
	page, err := p.read(id)
	if err == nil && binary.NativeEndian.Uint16(page[8:]) != freePage {
		err = errors.New("it is no free list")
	}
	if err != nil {
		p.faults.add("page %d: %w", id, err)
		return nil
	}
	free = map[uint64]bool{}
	at, count := uint64(pageHead), uint64(binary.NativeEndian.Uint16(page[10:]))
	if count == longFreeList {
		count, at = binary.NativeEndian.Uint64(page[at:]), at+8
	}
	for n := range min(count, (uint64(len(page))-at)/8) {
		free[binary.NativeEndian.Uint64(page[at+8*n:])] = true
	}
	return free
}
