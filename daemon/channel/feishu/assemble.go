package feishu

import (
	"strconv"
	"time"
)

// Bounds of events that come in parts.
const (
	maxParts     = 64               // of one event
	maxPartial   = 64               // events on their way at once
	maxEvent     = 8 << 20          // bytes of one event
	partialLimit = 30 * time.Second // for all parts of one to come
)

// assembly puts events together that the platform has split. One goroutine uses it.
type assembly struct{ partial map[string]*partial }

// partial is an event of which something is missing.
type partial struct {
	began time.Time
	parts [][]byte
	have  int
	bytes int
}

// add takes a data frame and returns the whole event once f completes it. What breaks a bound is dropped
// with all of its parts: it was not acknowledged, so the platform sends it again.
func (a *assembly) add(f frame, now time.Time) (event []byte, whole bool) {
	sum, _ := strconv.Atoi(f.get("sum"))
	if sum <= 1 {
		return f.payload, len(f.payload) <= maxEvent
	}
	seq, err := strconv.Atoi(f.get("seq"))
	id := f.get("message_id")
	if err != nil || seq < 0 || seq >= sum || sum > maxParts || id == "" {
		return nil, false
	}
	p := a.of(id, sum, now)
	if p.parts[seq] == nil {
		p.have++
		p.bytes += len(f.payload)
		p.parts[seq] = append([]byte{}, f.payload...)
	}
	switch {
	case p.bytes > maxEvent:
		delete(a.partial, id)
		return nil, false
	case p.have < sum:
		return nil, false
	}
	delete(a.partial, id)
	for _, part := range p.parts {
		event = append(event, part...)
	}
	return event, true
}

// of is what is there of an event, begun afresh where it was too old or split otherwise.
func (a *assembly) of(id string, sum int, now time.Time) *partial {
	oldest := id
	for other, p := range a.partial {
		switch {
		case now.Sub(p.began) > partialLimit:
			delete(a.partial, other)
		case a.partial[oldest] == nil || p.began.Before(a.partial[oldest].began):
			oldest = other
		}
	}
	if p := a.partial[id]; p != nil && len(p.parts) == sum {
		return p
	}
	delete(a.partial, id)
	if len(a.partial) >= maxPartial {
		delete(a.partial, oldest)
	}
	if a.partial == nil {
		a.partial = map[string]*partial{}
	}
	a.partial[id] = &partial{began: now, parts: make([][]byte, sum)}
	return a.partial[id]
}
