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
func (d *Delivery) MarkSeen(account, id string) error {
	if err := checkAccount(account); err != nil {
		return err
	}
	order, err := d.t.next(tableSeen)
	if err != nil {
		return err
	}
	if err := put(d.t, tableSeen, accountTextKey(account, id), Seen{Order: order}); err != nil {
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

// dropOldSeen removes the oldest ids of an account beyond those that are kept, at most limit of them.
func (t *txn) dropOldSeen(account string, limit int) (more bool, err error) {
	type sighting struct {
		order uint64
		key   []byte
	}
	var all []sighting
	for key, rec := range ascend[Seen](t, tableSeen, accountPrefix(account)) {
		all = append(all, sighting{rec.Order, key})
	}
	surplus := len(all) - keepSeen
	if surplus <= 0 {
		return false, nil
	}
	slices.SortFunc(all, func(a, b sighting) int { return cmp.Compare(a.order, b.order) })
	for _, old := range all[:min(surplus, limit)] {
		if err := t.remove(tableSeen, slices.Clone(old.key)); err != nil {
			return false, err
		}
	}
	return surplus > limit, nil
}
