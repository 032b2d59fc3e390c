package feishu

import (
	"context"
	"time"
)

// maxBatch is how many frames are handled together.
const maxBatch = 64

// follow handles what comes until ctx ends. Messages that arrived together are one commit.
func (a *Adapter) follow(ctx context.Context, s *socket, frames <-chan frame) error {
	for {
		select {
		case f := <-frames:
			if err := a.handle(ctx, s, waiting(f, frames)); err != nil {
				return err
			}
		case o := <-a.learned:
			if a.known.know(o.chat, o.since.UnixMilli()) {
				if err := a.keep(ctx, nil); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// waiting is a frame with those that came while nobody looked.
func waiting(first frame, frames <-chan frame) (all []frame) {
	all = append(all, first)
	for len(all) < maxBatch {
		select {
		case f := <-frames:
			all = append(all, f)
		default:
			return all
		}
	}
	return all
}

// handle takes the messages of some frames and acknowledges each frame once nothing of it can be lost.
func (a *Adapter) handle(ctx context.Context, s *socket, frames []frame) error {
	began := time.Now()
	var items []item
	var done []frame
	for _, f := range frames {
		it, message, whole := a.event(f, began)
		switch {
		case !whole: // the rest of it comes, or all of it again
		case message:
			items, done = append(items, it), append(done, f)
		default:
			if err := s.acknowledge(ctx, f, time.Since(began)); err != nil {
				return err
			}
		}
	}
	if len(items) == 0 {
		return nil
	}
	if err := a.bring(ctx, nil, a.unlooked(items, nil)); err != nil {
		return err
	}
	if err := a.take(ctx, items); err != nil {
		return err
	}
	for _, f := range done {
		if err := s.acknowledge(ctx, f, time.Since(began)); err != nil {
			return err
		}
	}
	return nil
}

// event reads what a frame completes. Whole and no message is an event that is only to be acknowledged:
// one that does not concern us, or that would be no better when it came again.
func (a *Adapter) event(f frame, now time.Time) (it item, message, whole bool) {
	if f.get("type") != "event" {
		return item{}, false, true
	}
	raw, whole := a.assembly.add(f, now)
	if !whole {
		return item{}, false, false
	}
	it, message, err := parseEvent(raw)
	if err != nil {
		a.o.Log.Warn("a malformed event was dropped", "account", a.o.Account.ID())
		return item{}, false, true
	}
	return it, message, true
}
