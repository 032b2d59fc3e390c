package store

// received is the name of an account's only cursor.
const received = "received"

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
