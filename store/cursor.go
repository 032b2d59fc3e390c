package store

// The names of what an account has come to.
const (
	received = "received" // by its adapter
	outage   = "outage"   // its owner was told of one that still lasts
)

// Cursor is where the receiving of an account has come to, as its adapter put it; "" before it did.
func (v *View) Cursor(account string) string {
	c, _ := get[Cursor](v.t, tableCursors, accountTextKey(account, received))
	return c.Value
}

// PutCursor moves it. It belongs into the transaction of the messages that it leaves behind.
func (d *Delivery) PutCursor(account, value string) error {
	if err := checkAccount(account); err != nil {
		return err
	}
	return put(d.t, tableCursors, accountTextKey(account, received), Cursor{Value: value})
}

// OutageTold reports whether the owner was told of an outage of the account that has not ended since.
func (v *View) OutageTold(account string) bool {
	_, told := get[Cursor](v.t, tableCursors, accountTextKey(account, outage))
	return told
}

// MarkOutage notes that the owner was told. It belongs into the transaction of what tells them.
func (d *Delivery) MarkOutage(account string) error {
	if err := checkAccount(account); err != nil {
		return err
	}
	return put(d.t, tableCursors, accountTextKey(account, outage), Cursor{Value: "told"})
}

// DeleteOutage notes that the outage is over.
func (d *Delivery) DeleteOutage(account string) error {
	return d.t.remove(tableCursors, accountTextKey(account, outage))
}
