// Package writer is the least that could make a change durable: bbolt, and one goroutine that puts
// everybody who waits into one commit. The bench measures the store beside it.
package writer

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

const valueBytes = 300 // of each record, about what a question takes

var bucketNames = [][]byte{[]byte("first"), []byte("second")}

// Writer is an open file. Put may be called from any goroutine.
type Writer struct {
	db    *bbolt.DB
	calls chan chan error
	ended chan struct{}
}

// Open makes a new file. Close it in the end.
func Open(path string) (*Writer, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, fmt.Errorf("cannot make %q: %w", path, err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range bucketNames {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	w := &Writer{db: db, calls: make(chan chan error), ended: make(chan struct{})}
	go w.run()
	return w, nil
}

// Put makes two records durable, together with those of whoever waits at the same time.
func (w *Writer) Put() error {
	done := make(chan error, 1)
	w.calls <- done
	return <-done
}

// Batch does the same by bbolt's own grouping.
func (w *Writer) Batch() error { return w.db.Batch(put) }

// Close ends the writer. Nobody may be in Put or Batch.
func (w *Writer) Close() error {
	close(w.calls)
	<-w.ended
	return w.db.Close()
}

func (w *Writer) run() {
	defer close(w.ended)
	for first := range w.calls {
		group := w.gather(first)
		err := w.db.Update(func(tx *bbolt.Tx) error {
			for range group {
				if err := put(tx); err != nil {
					return err
				}
			}
			return nil
		})
		for _, done := range group {
			done <- err
		}
	}
}

func (w *Writer) gather(first chan error) []chan error {
	group := []chan error{first}
	for {
		select {
		case done, open := <-w.calls:
			if !open {
				return group
			}
			group = append(group, done)
		default:
			return group
		}
	}
}

func put(tx *bbolt.Tx) error {
	var key [6]byte
	rand.Read(key[:]) // never fails
	for _, name := range bucketNames {
		if err := tx.Bucket(name).Put(key[:], make([]byte, valueBytes)); err != nil {
			return err
		}
	}
	return nil
}
