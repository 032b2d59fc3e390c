package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"scv/migrations"
)

// salvage is one dump of a file, damaged or not.
type salvage struct {
	*pages
	ctx     context.Context
	options DumpOptions
	emit    func(Row) error
	shown   map[rowName]bool
}

// dumpPages gives every record that can be reached, by bucket and key, and if anything could not be, the
// records on pages that nothing points to any more.
func dumpPages(ctx context.Context, file *os.File, o DumpOptions, emit func(Row) error) error {
	meta, sound := newestMeta(file)
	if !sound {
		meta.pageSize = uint32(os.Getpagesize())
	}
	p, err := newPages(file, meta.pageSize)
	if err != nil {
		return err
	}
	s := &salvage{p, ctx, o, emit, map[rowName]bool{}}
	if !sound {
		s.faults.add("both meta pages: they cannot be read")
	} else if meta.pages > p.count {
		s.faults.add("it was cut off at %d of %d pages", p.count, meta.pages)
	}
	if sound {
		err = s.reached(meta)
	}
	if err == nil && len(s.faults.list) > 0 {
		err = s.lost(meta, sound)
	}
	if err != nil {
		return err
	}
	if err := s.faults.err(); err != nil {
		return fmt.Errorf("the store %q is shown in part: %w", file.Name(), err)
	}
	return nil
}

// reached gives what the newest meta page leads to.
func (s *salvage) reached(meta boltMeta) error {
	buckets, empty := map[string][]byte{}, true
	err := s.walk(meta.root, 0, func(e element) error {
		empty = false
		if e.bucket {
			buckets[string(e.key)] = e.value
		}
		return nil
	})
	if err != nil {
		return err
	}
	schema, missing := 0, []string(nil)
	for _, table := range Schema {
		bucket, known := buckets[table.Name]
		if !known {
			missing = append(missing, table.Name)
			continue
		}
		err := s.records(table.Name, bucket, func(e element) error {
			if e.bucket {
				e.value = nil
			}
			if table == tableMeta && string(e.key) == "schema" {
				schema, _ = strconv.Atoi(string(e.value)) // 0 when it is no number
			}
			return s.show(table, e, false)
		})
		if err != nil {
			return err
		}
	}
	if schema == migrations.Newest() || schema == 0 && !empty { // another one has other buckets
		for _, name := range missing {
			s.faults.add("bucket %s is missing", name)
		}
	}
	return nil
}

// show gives one record, unless it was shown.
func (s *salvage) show(table *Table, e element, lost bool) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	name := rowName{table.Name, table.form.text(e.key)}
	if s.shown[name] {
		return nil
	}
	s.shown[name] = true
	return s.emit(Row{name.bucket, name.key, table.show(e.key, e.value, s.options), lost})
}

// lost gives the records of leaves that nothing leads to. Where the free list cannot be read some may be
// old.
func (s *salvage) lost(meta boltMeta, sound bool) error {
	var free map[uint64]bool
	if sound {
		free = s.free(meta.freelist)
	}
	for id := uint64(2); id < s.count; id++ {
		if err := s.ctx.Err(); err != nil { // most pages of a vast file show nothing
			return err
		}
		if s.seen[id] || free[id] {
			continue
		}
		page, err := s.read(id)
		if err != nil || !isLeaf(page) {
			continue
		}
		var found []element
		quiet := &pages{size: s.size, count: s.count} // its faults are no news
		_ = quiet.leaf(id, page, func(e element) error {
			found = append(found, e)
			return nil
		})
		table := tableOf(found)
		if table == nil {
			continue
		}
		for _, e := range found {
			if err := s.show(table, e, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// tableOf is the only table that could have written most of the elements of a leaf, nil if there is none
// such. A damaged element fits none.
func tableOf(found []element) (only *Table) {
	best, tied := 0, false
	for _, table := range Schema {
		fits := 0
		for _, e := range found {
			if _, err := table.read(table, e.key, e.value); err == nil && !e.bucket {
				fits++
			}
		}
		switch {
		case fits > best:
			only, best, tied = table, fits, false
		case fits == best:
			tied = true
		}
	}
	if best == 0 || tied {
		return nil
	}
	return only
}

// openLocked opens a file to read its pages, damaged or not, while nobody writes it.
func openLocked(ctx context.Context, path string) (*os.File, error) {
	file, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if err := lockFile(ctx, file, false, toolLockTimeout); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
