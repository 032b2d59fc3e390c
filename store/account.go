package store

// AccountRow is an account with its component id.
type AccountRow struct {
	ID string
	Account
}

// Account reads the settings of one account.
func (v *View) Account(id string) (Account, bool) {
	return get[Account](v.t, tableAccounts, []byte(id))
}

// Accounts lists all accounts, sorted by id.
func (v *View) Accounts() (rows []AccountRow) {
	for key, rec := range ascend[Account](v.t, tableAccounts, nil) {
		rows = append(rows, AccountRow{string(key), rec})
	}
	return rows
}

// PutAccount stores the settings of an account.
func (i *Intent) PutAccount(id string, a Account) error {
	if err := checkAccount(id); err != nil {
		return err
	}
	return put(i.t, tableAccounts, []byte(id), a)
}

// DeleteAccount forgets the settings of an account.
func (i *Intent) DeleteAccount(id string) error { return i.t.remove(tableAccounts, []byte(id)) }
