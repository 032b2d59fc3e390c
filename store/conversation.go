package store

// Conversation reads what is known of one conversation of an account.
func (v *View) Conversation(account, key string) (Conversation, bool) {
	return get[Conversation](v.t, tableConversations, accountTextKey(account, key))
}

// PutConversation stores it.
func (d *Delivery) PutConversation(account, key string, c Conversation) error {
	if err := checkAccount(account); err != nil {
		return err
	}
	return put(d.t, tableConversations, accountTextKey(account, key), c)
}

// DeleteConversation forgets it: the next message begins a new one.
func (d *Delivery) DeleteConversation(account, key string) error {
	return d.t.remove(tableConversations, accountTextKey(account, key))
}
