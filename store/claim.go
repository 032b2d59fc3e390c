package store

// ClaimRow is a claim with its key.
type ClaimRow struct {
	Account string
	Seq     uint64
	Claim
}

// Claims lists the claims of an account, oldest first.
func (v *View) Claims(account string) []ClaimRow { return v.claims(accountPrefix(account)) }

// AllClaims lists the claims of all accounts, by account and age.
func (v *View) AllClaims() []ClaimRow { return v.claims(nil) }

func (v *View) claims(prefix []byte) (rows []ClaimRow) {
	for key, rec := range ascend[Claim](v.t, tableClaims, prefix) {
		account, _, _ := splitAccount(key)
		rows = append(rows, ClaimRow{account, seqOf(key), rec})
	}
	return rows
}

// CountClaims counts the claims of an account without reading them.
func (v *View) CountClaims(account string) (n int) {
	for range descendRaw(v.t, tableClaims, accountPrefix(account)) {
		n++
	}
	return n
}

// PutClaim stores a new claim and returns its sequence.
func (d *Delivery) PutClaim(account string, c Claim) (seq uint64, err error) {
	return appendSeq(d.t, tableClaims, account, c)
}

// UpdateClaim rewrites a claim. The error is ErrMissing when it is gone.
func (d *Delivery) UpdateClaim(account string, seq uint64, c Claim) error {
	return replace(d.t, tableClaims, accountSeqKey(account, seq), c)
}

// DeleteClaim removes a claim that has its answer.
func (d *Delivery) DeleteClaim(account string, seq uint64) error {
	return d.t.remove(tableClaims, accountSeqKey(account, seq))
}
