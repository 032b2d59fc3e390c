package store

var lastKey = []byte("last")

// LastOwner is where an owner last wrote.
func (v *View) LastOwner() (LastOwner, bool) { return get[LastOwner](v.t, tableLastOwner, lastKey) }

// PutLastOwner stores where an owner wrote.
func (s *Shared) PutLastOwner(o LastOwner) error { return put(s.t, tableLastOwner, lastKey, o) }
