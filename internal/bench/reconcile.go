package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/daemon/channel"
	"scv/daemon/reconcile"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

const (
	fewAccounts  = 128
	manyAccounts = 10_000
)

// measureReconcile compares a pass over many accounts with one over few, all of them running and none
// changed. A pass reads the accounts from the store, as the daemon's does.
func measureReconcile(ctx context.Context, b *bench) (rows []row, err error) {
	few, endFew, err := b.startLoop(ctx, fewAccounts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, endFew()) }()
	many, endMany, err := b.startLoop(ctx, manyAccounts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, endMany()) }()
	m, err := inTurns(ctx, 25, passing(many, 1), passing(few, 20))
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("a reconcile pass over 10,000 unchanged accounts, against one over 128 (78 times fewer)", m[0], m[1], m[0]/m[1], 90, "ms"),
	}, nil
}

// passing is how long a pass takes, over some in a row where one is short.
func passing(loop *reconcile.Loop, passes int) sample {
	return func(ctx context.Context) (float64, error) {
		began := time.Now()
		for range passes {
			if err := loop.Sync(ctx); err != nil {
				return 0, err
			}
		}
		return milliseconds(time.Since(began)) / float64(passes), nil
	}
}

// startLoop runs n accounts and returns when all are connected.
func (b *bench) startLoop(ctx context.Context, n int) (loop *reconcile.Loop, end func() error, err error) {
	s, err := openStore(ctx, b.path(fmt.Sprintf("accounts-%d.db", n)), clock.System{}, false)
	if err != nil {
		return nil, nil, err
	}
	if err := putAccounts(ctx, s, n); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	loop = reconcile.New(reconcile.Options{
		Desired: func() ([]reconcile.Desired, error) { return desired(s) },
		Make: func(_ reconcile.Desired, host channel.Host) (channel.Adapter, error) {
			return quiet{host}, nil
		},
		Clock: clock.System{}, Interval: time.Hour,
	})
	running, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(running) }()
	end = func() error {
		cancel()
		return errors.Join(<-ended, s.Close())
	}
	if err := connected(ctx, loop, n); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return loop, end, nil
}

func putAccounts(ctx context.Context, s *store.Store, n int) error {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("local:a%05d", i)
	}
	for some := range slices.Chunk(names, 500) {
		err := s.Intend(ctx, func(tx *store.Intent) error {
			for _, id := range some {
				a := store.Account{Enabled: true, RemoteTools: wire.ToolsOwner, Senders: wire.SendersOwner, OwnerID: "uid:0"}
				if err := tx.PutAccount(id, a); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func desired(s *store.Store) (all []reconcile.Desired, err error) {
	err = s.View(func(v *store.View) error {
		for _, r := range v.Accounts() {
			name, of, _ := strings.Cut(r.ID, ":")
			all = append(all, reconcile.Desired{
				Account: channel.Account{Channel: name, Name: of, OwnerID: r.OwnerID},
				Enabled: r.Enabled, RemoteTools: r.RemoteTools, Senders: r.Senders,
			})
		}
		return nil
	})
	return all, err
}

// connected waits until every account is.
func connected(ctx context.Context, loop *reconcile.Loop, n int) error {
	for ctx.Err() == nil {
		if err := loop.Sync(ctx); err != nil {
			return err
		}
		up := 0
		for _, h := range loop.Health() {
			if h.State == wire.Connected {
				up++
			}
		}
		if up == n {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ctx.Err()
}

// quiet is an adapter to which nothing happens.
type quiet struct{ host channel.Host }

func (q quiet) Serve(ctx context.Context) error {
	q.host.Contact(nil)
	<-ctx.Done()
	return nil
}

func (quiet) Send(context.Context, channel.Outgoing) (channel.Receipt, error) {
	return channel.Receipt{}, nil
}

func (quiet) MaxText() int { return 4096 }
