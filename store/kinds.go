package store

import "context"

// View reads. Its methods are those of every kind of transaction; what they give is a copy.
type View struct{ t *txn }

// Shared is what every kind of transaction may write: questions, the journal, the last owner. A rule
// that any of them may run takes a *Shared.
type Shared struct{ View }

// Intent writes what the owner wants: the accounts.
type Intent struct{ Shared }

// Delivery writes messages on their way: claims, outbox, seen, cursors, conversations, chat lines.
type Delivery struct{ Shared }

// Observation writes what was seen of the world: delegations.
type Observation struct{ Shared }

// Intend runs fn and makes what it wrote durable, or nothing of it. ctx bounds only the wait for a
// turn. fn's own error is returned as it is; ErrUnavailable means that the disk refused.
func (s *Store) Intend(ctx context.Context, fn func(*Intent) error) error {
	return s.write(ctx, func(t *txn) error { return fn(&Intent{Shared{View{t}}}) })
}

// Deliver is Intend for messages.
func (s *Store) Deliver(ctx context.Context, fn func(*Delivery) error) error {
	return s.write(ctx, func(t *txn) error { return fn(&Delivery{Shared{View{t}}}) })
}

// Observe is Intend for observations.
func (s *Store) Observe(ctx context.Context, fn func(*Observation) error) error {
	return s.write(ctx, func(t *txn) error { return fn(&Observation{Shared{View{t}}}) })
}

// View runs fn on one consistent state. It never waits for a write in progress.
func (s *Store) View(fn func(*View) error) error {
	return s.read(func(t *txn) error { return fn(&View{t}) })
}
