package store

// JournalRow is an entry with its sequence.
type JournalRow struct {
	Seq uint64
	JournalEntry
}

// Journal lists the newest entries, at most max, the newest first.
func (v *View) Journal(max int) (rows []JournalRow) {
	for key, raw := range descendRaw(v.t, tableJournal, nil) {
		if len(rows) >= max {
			break
		}
		if rec, ok := judged[JournalEntry](v.t, tableJournal, key, raw); ok {
			rows = append(rows, JournalRow{seqOf(key), rec})
		}
	}
	return rows
}

// AddJournal adds an entry, stamped with the store's clock: who did what, in one line without a
// message's text or a secret. detail is nil or a receipt.
func (s *Shared) AddJournal(kind, who, what string, detail any) error {
	return s.t.addJournal(kind, who, what, detail)
}

func (t *txn) addJournal(kind, who, what string, detail any) error {
	seq, err := t.next(tableJournal)
	if err != nil {
		return err
	}
	entry := JournalEntry{At: t.s.clock.Now(), Kind: kind, Who: who, What: what, Detail: detail}
	return put(t, tableJournal, bigEndian(seq), entry)
}
