package main

import (
	"context"
	"errors"
	"time"
)

// measureStart compares a clean start, up to the first answer over the socket, with a process that
// starts the embedded server and opens a bbolt file.
func measureStart(ctx context.Context, b *bench) ([]row, error) {
	d, err := b.startDaemon(ctx, "start") // makes the home: a first start is no usual one
	if err != nil {
		return nil, err
	}
	if err := d.stop(); err != nil {
		return nil, err
	}
	ours := func(ctx context.Context) (float64, error) {
		began := time.Now()
		d, err := b.startDaemon(ctx, "start")
		if err != nil {
			return 0, err
		}
		return milliseconds(time.Since(began)), d.stop()
	}
	m, err := inTurns(ctx, 20, ours, b.bareStart)
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("clean start to the first answer, against embedded server and bbolt alone", m[0], m[1], m[0]/m[1], 2, "ms"),
	}, nil
}

func (b *bench) bareStart(context.Context) (float64, error) {
	began := time.Now()
	p, err := b.start("bare", b.path("bare.db"))
	if err != nil {
		return 0, err
	}
	err = p.ready()
	took := milliseconds(time.Since(began))
	return took, errors.Join(err, p.stop())
}
