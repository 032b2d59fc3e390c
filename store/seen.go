package store

import (
	"cmp"
	"slices"
)

// seenSlack is how many sightings of an account may pass before the oldest are dropped again: looking
// for them reads all of the account's, so it is not done at each.
const seenSlack = 1024

// SeenMessage reports whether a message id was handled before.
func (v *View) SeenMessage(account, id string) bool {
	return v.t.bucket(tableSeen).Get(accountTextKey(account, id)) != nil
}

// MarkSeen notes a sighting of a message id and makes it the newest of its account.
func (d *Delivery) MarkSeen(account, id string) error { return d.markSeen(account, id, false) }

// MarkOwnerSeen is MarkSeen for a message of the account's owner. Such ids are kept apart: however much others
// write, what the owner wrote is not forgotten, and so not done twice.
func (d *Delivery) MarkOwnerSeen(account, id string) error { return d.markSeen(account, id, true) }

func (d *Delivery) markSeen(account, id string, owner bool) error {
	if err := checkAccount(account); err != nil {
		return err
	}
	order, err := d.t.next(tableSeen)
	if err != nil {
		return err
	}
	if err := put(d.t, tableSeen, accountTextKey(account, id), Seen{Order: order, Owner: owner}); err != nil {
		return err
	}
	return d.t.noteSighting(account)
}

// noteSighting drops the oldest ids when enough sightings have passed. The count lives in memory only:
// Sweep evens out what a restart or a rolled-back call made of it.
func (t *txn) noteSighting(account string) error {
	if t.s.sightings[account]++; t.s.sightings[account] < seenSlack {
		return nil
	}
	t.s.sightings[account] = 0
	_, err := t.dropOldSeen(account, 2*seenSlack)
	return err
}

// sighting is a message id and how old its latest sighting is.
type sighting struct {
	order uint64
	key   []byte
}

// dropOldSeen removes the oldest ids of an account beyond those that are kept, of its owner and of all others each,
// at most limit of them.
func (t *txn) dropOldSeen(account string, limit int) (more bool, err error) {
	kept := map[bool][]sighting{}
	for key, rec := range ascend[Seen](t, tableSeen, accountPrefix(account)) {
		kept[rec.Owner] = append(kept[rec.Owner], sighting{rec.Order, key})
	}
	for _, all := range kept {
		surplus := len(all) - keepSeen
		if surplus <= 0 {
			continue
		}
		slices.SortFunc(all, func(a, b sighting) int { return cmp.Compare(a.order, b.order) })
		for _, old := range all[:min(surplus, limit)] {
			if err := t.remove(tableSeen, slices.Clone(old.key)); err != nil {
				return false, err
			}
		}
		more = more || surplus > limit
	}
	return more, nil
}
