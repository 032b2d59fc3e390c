package store

// Commits is how many transactions were made durable since the store was opened: what a disk is asked for.
func (s *Store) Commits() int64 { return s.commits.Load() }
