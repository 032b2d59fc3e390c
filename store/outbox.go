package store

import "slices"

// OutboundRow is an outgoing message with its key.
type OutboundRow struct {
	Account string
	Seq     uint64
	Outbound
}

// Outbox lists what an account is to deliver, in order: at most max, held ones left out.
func (v *View) Outbox(account string, max int) (rows []OutboundRow) {
	for key, rec := range ascend[Outbound](v.t, tableOutbox, accountPrefix(account)) {
		if len(rows) >= max {
			break
		}
		if !rec.Held {
			rows = append(rows, OutboundRow{account, seqOf(key), rec})
		}
	}
	return rows
}

// Head is the next message an account is to deliver.
func (v *View) Head(account string) (OutboundRow, bool) {
	if rows := v.Outbox(account, 1); len(rows) > 0 {
		return rows[0], true
	}
	return OutboundRow{}, false
}

// OutboxAccounts lists the accounts that have something to deliver, sorted.
func (v *View) OutboxAccounts() (accounts []string) {
	for _, account := range accountsIn(v.t, tableOutbox) {
		if _, ok := v.Head(account); ok {
			accounts = append(accounts, account)
		}
	}
	slices.Sort(accounts) // keys are not in the order of names: a/ is after a-b/
	return accounts
}

// Held lists what was refused in a conversation and waits to go along, oldest first.
func (v *View) Held(account, conversation string) (rows []OutboundRow) {
	for key, rec := range ascend[Outbound](v.t, tableOutbox, accountPrefix(account)) {
		if rec.Held && rec.Conversation == conversation {
			rows = append(rows, OutboundRow{account, seqOf(key), rec})
		}
	}
	return rows
}

// AddOutbound queues a message behind those of its account and returns its sequence.
func (d *Delivery) AddOutbound(account string, o Outbound) (seq uint64, err error) {
	return appendSeq(d.t, tableOutbox, account, o)
}

// UpdateOutbound rewrites a queued message. The error is ErrMissing when it is gone.
func (d *Delivery) UpdateOutbound(account string, seq uint64, o Outbound) error {
	return replace(d.t, tableOutbox, accountSeqKey(account, seq), o)
}

// DeleteOutbound removes a message that was delivered or given up.
func (d *Delivery) DeleteOutbound(account string, seq uint64) error {
	return d.t.remove(tableOutbox, accountSeqKey(account, seq))
}
