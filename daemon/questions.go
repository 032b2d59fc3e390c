package daemon

import (
	"context"
	"sync"
	"time"

	"scv/daemon/confirm"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

const (
	lookAtQuestions = time.Second     // while any is open
	resumed         = 5 * time.Second // of the boot clock beyond our own: the machine slept
)

// questions carries the rules of confirm to the store, the chat and whoever waits. It keeps in memory
// only when each question was last asked about.
type questions struct {
	d    *Daemon
	wake chan struct{}

	failing bool // the latest tick could not write; Run's own

	mu      sync.Mutex
	codes   map[string]map[string]bool // see codesInUse
	polled  map[string]clock.Stamp     // pending questions, as last seen
	quiet   map[string]quiet           // those of them that time cannot end yet
	unsaid  map[string]clock.Stamp     // when a question of a chat last ended without an answer; while it matters
	ticked  clock.Stamp
	tickedM time.Time // the same moment on the clock that stands still in a suspend
}

// quiet says that a question looked at then need not be looked at for so long: its deadline stands, and who
// asks about it only puts its withdrawal off.
type quiet struct {
	from clock.Stamp
	span time.Duration
}

func newQuestions(d *Daemon) *questions {
	return &questions{d: d, wake: make(chan struct{}, 1), polled: map[string]clock.Stamp{}, quiet: map[string]quiet{}, unsaid: map[string]clock.Stamp{}}
}

// load grants every open question a fresh keep-alive: while no daemon ran, nobody could ask.
func (q *questions) load() error {
	now := q.d.clock.Now()
	return q.d.store.View(func(v *store.View) error {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.ticked, q.tickedM = now, time.Now()
		for _, c := range v.Confirms() {
			if !c.State.Final() {
				q.polled[c.ID] = now
			} else if confirm.Unanswered(confirm.Question(c), false) && confirm.StillInDoubt(c.Ended, now) {
				q.keepUnsaid(c.Account, c.Chat, c.Ended)
			}
		}
		return nil
	})
}

// Wake makes Run look at what has changed.
func (q *questions) Wake() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run ends what time ends and tells whoever waits, until ctx ends.
func (q *questions) Run(ctx context.Context) error {
	tick := time.NewTicker(lookAtQuestions)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-q.wake:
			q.tellEnded()
		case <-tick.C:
			q.tick(ctx)
		}
	}
}

// tick ends questions by time. The pending ones are known from memory, so that an idle daemon reads
// nothing.
func (q *questions) tick(ctx context.Context) {
	now := q.d.clock.Now()
	due := q.due(now)
	var failed error
	for id, polled := range due {
		err := q.change(ctx, id, func(c confirm.Question) (confirm.Question, string) { return c.Tick(now, polled) })
		if err != nil {
			failed = err
		}
	}
	if failed != nil && !q.failing { // once for each outage: it is tried again every second
		q.d.log.Error("cannot end questions whose time is up, trying again", "err", failed)
	}
	q.failing = failed != nil
	if len(due) > 0 {
		q.d.wake()
	}
}

// due is the questions that the rules would end now, with their last asking.
func (q *questions) due(now clock.Stamp) map[string]clock.Stamp {
	q.mu.Lock()
	pending := make(map[string]clock.Stamp, len(q.polled))
	slept := now.Since(q.ticked)-time.Since(q.tickedM) > resumed
	q.ticked, q.tickedM = now, time.Now()
	for id := range q.polled {
		if slept {
			q.polled[id] = now
		}
		if still, known := q.quiet[id]; !known || now.Since(still.from) >= still.span {
			pending[id] = q.polled[id]
		}
	}
	q.mu.Unlock()
	if len(pending) == 0 {
		return nil
	}
	due := map[string]clock.Stamp{}
	err := q.d.store.View(func(v *store.View) error {
		for id, polled := range pending {
			c, known := v.Confirm(id)
			if !known {
				continue
			}
			if after, _ := confirm.Question(c).Tick(now, polled); after.State != c.State {
				due[id] = polled
				continue
			}
			q.keepQuiet(id, quiet{now, min(c.Timeout-confirm.Question(c).ElapsedAt(now), confirm.KeepAlive-now.Since(polled))})
		}
		return nil
	})
	if err != nil {
		q.d.log.Error("cannot read the questions", "err", err)
	}
	return due
}

func (q *questions) keepQuiet(id string, how quiet) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.quiet[id] = how
}

// codesInUse are the codes that a new question of a chat may not have, by what the transaction sees. They
// are kept: with thousands of questions a day, reading all of them was most of what an ask cost. Only
// transactions that write may touch them, of which there is one at a time.
func (q *questions) codesInUse(tx *store.Delivery, account, chat string) map[string]bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	key := account + "\x00" + chat
	if q.codes[key] == nil {
		if q.codes == nil {
			q.codes = map[string]map[string]bool{}
		}
		q.codes[key] = tx.CodesInUse(account, chat)
	}
	return q.codes[key]
}

// forgetCodes has the codes read anew. Until then those that a sweep has set free count as used.
func (q *questions) forgetCodes() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.codes = nil
}

// endedUnanswered notes that a chat saw a question end without an answer. A transaction that fails after all
// costs the chat's next bare words.
func (q *questions) endedUnanswered(account, chat string, now clock.Stamp) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, at := range q.unsaid {
		if !confirm.StillInDoubt(at, now) {
			delete(q.unsaid, key)
		}
	}
	q.keepUnsaid(account, chat, now)
}

// keepUnsaid keeps the latest end; q.mu is held.
func (q *questions) keepUnsaid(account, chat string, at clock.Stamp) {
	key := account + "\x00" + chat
	if before, known := q.unsaid[key]; !known || at.Wall.After(before.Wall) || at.BootID == before.BootID && at.Boot > before.Boot {
		q.unsaid[key] = at
	}
}

func (q *questions) lastUnanswered(account, chat string) clock.Stamp {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.unsaid[account+"\x00"+chat]
}

// asked notes that somebody asks about a question.
func (q *questions) asked(id string, now clock.Stamp) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.polled[id] = now
}

func (q *questions) lastAsked(id string, otherwise clock.Stamp) clock.Stamp {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at, known := q.polled[id]; known {
		return at
	}
	return otherwise
}

// tellEnded publishes every question that was pending when last seen and no longer is.
func (q *questions) tellEnded() {
	q.mu.Lock()
	ids := make([]string, 0, len(q.polled))
	for id := range q.polled {
		ids = append(ids, id)
	}
	q.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	var ended []wire.ConfirmInfo
	err := q.d.store.View(func(v *store.View) error {
		for _, id := range ids {
			if v.ConfirmWaits(id) {
				continue
			}
			if c, known := v.Confirm(id); known && c.State.Final() {
				ended = append(ended, confirm.Info(confirm.Question(c)))
			}
		}
		return nil
	})
	if err != nil {
		q.d.log.Error("cannot read the questions", "err", err)
		return
	}
	for _, info := range ended {
		q.mu.Lock()
		delete(q.polled, info.ID)
		delete(q.quiet, info.ID)
		q.mu.Unlock()
		q.d.publishEvent(wire.EventConfirm+info.ID, info)
	}
}
