package channel

import (
	"context"
	"errors"
	"time"

	"scv/internal/clock"
)

// How long a batch that could not be kept waits, at first and at most.
const (
	keepAgain = 100 * time.Millisecond
	keepSlow  = 10 * time.Second
)

// errNotKept is what a person reads of an account whose platform answers in vain.
var errNotKept = errors.New("its messages cannot be kept, as where the disk is full; the log says why; it is tried again by itself")

// Keep hands a batch over and moves the cursor past it. It tries until that is durable or ctx ends: only then may
// anybody acknowledge, and nothing newer may come before. failed hears of each try that was in vain, and meanwhile the
// account has no contact: nothing of it is heard.
func (h Host) Keep(ctx context.Context, batch []Message, cursor string, failed func(err error, again time.Duration)) error {
	for wait := keepAgain; ; wait = min(2*wait, keepSlow) {
		err := h.ReceiveTo(ctx, batch, cursor)
		if err == nil && wait > keepAgain {
			h.Contact(nil)
		}
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		failed(err, wait)
		h.Contact(errNotKept)
		if !clock.Pause(ctx, wait) {
			return ctx.Err()
		}
	}
}
