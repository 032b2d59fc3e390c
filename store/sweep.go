package store

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"scv/internal/clock"
)

// sweepPage bounds how many records one read of a sweep looks at.
const sweepPage = 2000

// victim is a record over its time. It is removed only if it still is what was judged.
type victim struct {
	key []byte
	sum uint64
}

var sweepSeed = maphash.MakeSeed()

// Sweep applies the retention rule of every bucket. The daemon calls it at start and every hour; it
// reads in pages and deletes in chunks, so that nobody waits long for it.
func (s *Store) Sweep(ctx context.Context) error {
	now := s.clock.Now()
	for _, table := range Schema {
		if table.past == nil {
			continue
		}
		victims, err := s.findPast(ctx, table, now)
		if err == nil {
			err = s.removeVictims(ctx, table, victims)
		}
		if err != nil {
			return fmt.Errorf("cannot sweep %s: %w", table.Name, err)
		}
	}
	return errors.Join(s.sweepSeen(ctx), s.sweepQuarantine(ctx))
}

// sweepWalk is where a walk through a bucket, newest first, stands between two pages.
type sweepWalk struct {
	table   *Table
	now     clock.Stamp
	pos     []byte // the last key looked at
	group   string
	rank    int
	victims []victim
	done    bool
}

func (s *Store) findPast(ctx context.Context, table *Table, now clock.Stamp) ([]victim, error) {
	walk := &sweepWalk{table: table, now: now}
	for !walk.done {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.read(walk.page); err != nil {
			return nil, err
		}
	}
	return walk.victims, nil
}

func (w *sweepWalk) page(t *txn) error {
	c := t.bucket(w.table).Cursor()
	var key, raw []byte
	if w.pos != nil {
		key, _ = c.Seek(w.pos)
	}
	if key != nil {
		key, raw = c.Prev()
	} else {
		key, raw = c.Last()
	}
	for range sweepPage {
		if key == nil {
			w.done = true
			return nil
		}
		w.judge(key, raw)
		w.pos = slices.Clone(key)
		key, raw = c.Prev()
	}
	return nil
}

// judge looks at one record. A bad one is left to quarantine.
func (w *sweepWalk) judge(key, raw []byte) {
	rec, err := w.table.read(w.table, key, raw)
	if err != nil || w.table.counts != nil && !w.table.counts(rec) {
		return
	}
	if group := w.table.form.group(key); group != w.group {
		w.group, w.rank = group, 0
	}
	if w.table.past(rec, w.rank, w.now) {
		w.victims = append(w.victims, victim{slices.Clone(key), maphash.Bytes(sweepSeed, raw)})
	}
	w.rank++
}

// removeVictims deletes what was judged and was not written again since.
func (s *Store) removeVictims(ctx context.Context, table *Table, victims []victim) error {
	for some := range slices.Chunk(victims, chunk) {
		err := s.write(ctx, func(t *txn) error {
			for _, v := range some {
				raw := t.bucket(table).Get(v.key)
				if raw == nil || maphash.Bytes(sweepSeed, raw) != v.sum {
					continue
				}
				if err := t.remove(table, v.key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sweepSeen drops the oldest message ids. Their age is in the records, not in their keys.
func (s *Store) sweepSeen(ctx context.Context) error {
	var full []string
	err := s.read(func(t *txn) error {
		for _, account := range accountsIn(t, tableSeen) {
			n := 0
			for range descendRaw(t, tableSeen, accountPrefix(account)) {
				n++
			}
			if n > keepSeen {
				full = append(full, account)
			}
		}
		return nil
	})
	for _, account := range full {
		for more := true; more && err == nil; {
			err = s.write(ctx, func(t *txn) (err error) {
				more, err = t.dropOldSeen(account, chunk)
				return err
			})
		}
	}
	if err != nil {
		return fmt.Errorf("cannot sweep seen: %w", err)
	}
	return nil
}

// sweepQuarantine drops the oldest entries. Their keys say where they came from, not when.
func (s *Store) sweepQuarantine(ctx context.Context) error {
	type entry struct {
		victim
		at clock.Stamp
	}
	var all []entry
	err := s.read(func(t *txn) error {
		for key, rec := range ascend[Quarantined](t, tableQuarantine, nil) {
			raw := t.bucket(tableQuarantine).Get(key)
			all = append(all, entry{victim{slices.Clone(key), maphash.Bytes(sweepSeed, raw)}, rec.At})
		}
		return nil
	})
	slices.SortStableFunc(all, func(a, b entry) int { return a.at.Wall.Compare(b.at.Wall) })
	var victims []victim
	for _, old := range all[:max(len(all)-keepQuarantine, 0)] {
		victims = append(victims, old.victim)
	}
	if err == nil {
		err = s.removeVictims(ctx, tableQuarantine, victims)
	}
	if err != nil {
		return fmt.Errorf("cannot sweep quarantine: %w", err)
	}
	return nil
}
