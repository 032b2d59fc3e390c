package wire

// StoreSnapshotRequest is the request of daemon.store.snapshot.
type StoreSnapshotRequest struct{}

// StoreSnapshot is its reply: a consistent copy of the store, a 0600 file in the home.
// The asker removes it; the daemon removes what is left after ten minutes.
type StoreSnapshot struct {
	Path string `json:"path"`
}

func (*StoreSnapshotRequest) fields() []field { return nil }

func (s *StoreSnapshot) fields() []field {
	return []field{required("path", &s.Path, readText)}
}
