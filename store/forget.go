package store

import (
	"bytes"
	"slices"
)

// accountTables hold what an account's messages left behind.
var accountTables = []*Table{tableClaims, tableOutbox, tableSeen, tableCursors, tableConversations, tableChat}

// ForgetAccount removes at most limit of the records that messages of an account left, for its log-out.
// It reports whether there may be more; call it again, in a transaction of its own, until there are not.
func (d *Delivery) ForgetAccount(account string, limit int) (more bool, err error) {
	if err := checkAccount(account); err != nil {
		return false, err
	}
	for _, table := range accountTables {
		for _, key := range d.t.firstKeys(table, accountPrefix(account), limit) {
			if err := d.t.remove(table, key); err != nil {
				return false, err
			}
			limit--
		}
		if limit <= 0 {
			return true, nil
		}
	}
	return false, nil
}

// firstKeys copies out the first keys under prefix, at most limit.
func (t *txn) firstKeys(table *Table, prefix []byte, limit int) (keys [][]byte) {
	c := t.bucket(table).Cursor()
	key, _ := c.Seek(prefix)
	for ; len(keys) < limit && key != nil && bytes.HasPrefix(key, prefix); key, _ = c.Next() {
		keys = append(keys, slices.Clone(key))
	}
	return keys
}
