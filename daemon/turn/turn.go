// Package turn answers claims: one turn at a time in each conversation, conversations side by side. A
// turn is one recorded run of the conversation's agent; its reply and the end of its claim are one
// commit. A turn that a crash or a stop interrupted is explained and never run again; a claim whose
// turn had not begun is simply answered later.
package turn

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"scv/daemon/agent"
	"scv/daemon/channel"
	"scv/daemon/delegation"
	"scv/daemon/live"
	"scv/daemon/media"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

// MaxAnswer is the largest answer in bytes; a longer one is cut with a mark (docs/rules.md §9).
const MaxAnswer = 64 << 10

const _ = uint(delegation.KeptOutput - MaxAnswer - 1) // does not compile if a run keeps less than an answer

const (
	lookAgain = 2 * time.Second        // should a wake be missed by a fault
	lookSoon  = 100 * time.Millisecond // where a run to be stopped is only just being started
)

// Limits come from config.toml.
type Limits struct {
	Owner      time.Duration // a turn of the owner
	Others     time.Duration // a turn of anyone else
	Concurrent int           // turns at once in one account
	Progress   time.Duration // of the owner, after which the chat hears what the agent does; 0 is never

	OwnerFile   int64 // bytes of a file from the owner; 0 fetches none from anybody
	OthersImage int64 // bytes of a picture from anybody else; 0 is none
}

// Options is what the daemon hands in.
type Options struct {
	Store  *store.Store
	Clock  clock.Clock
	Log    *slog.Logger
	Runs   *delegation.Keeper
	Live   *live.Pool
	Agents func() *agent.Registry
	Limits func() Limits
	// Found are the known agents of this machine, for the reply where none is configured.
	Found func() []agent.Found
	// Workspace is the folder an account's agents work in; the error is a sentence for the chat.
	Workspace func(store.Account) (string, error)
	// Typist shows in the chats of an account that somebody is writing, where its platform does.
	Typist func(account string) (channel.Typist, bool)
	// Media is where files of chats are kept.
	Media media.Folders
	// Carries says whether an account's platform carries files; Carrier is its adapter while it runs.
	Carries func(account string) bool
	Carrier func(account string) (channel.Carrier, bool)
	// Replied is called after a reply is durable.
	Replied func()
	// WhyCut is why SCV itself ended the work of a run, as a sentence; "" where it did not.
	WhyCut func(handle string) string
	// Reported is called after the report of a background delegation is durable.
	Reported func(handle string, outcome wire.DelegationOutcome)
}

// Engine starts turns.
type Engine struct {
	o        Options
	wake     chan struct{}
	mu       sync.Mutex
	busy     map[conversation]bool // conversations with a turn running
	count    map[place]int         // turns running
	stopping map[string]bool       // runs that are being stopped by their owner's word
	fetching map[claim]func()      // turns that fetch files, and how to end that
	turns    sync.WaitGroup

	faults faults
}

// conversation is what at most one turn works on. Those of background delegations are apart from chats.
type conversation struct {
	account, key string
	job          bool
}

// claim names one.
type claim struct {
	account string
	seq     uint64
}

// place is what limits how many turns run at once.
type place struct {
	account string
	job     bool
}

// New makes the engine.
func New(o Options) *Engine {
	return &Engine{
		o: o, wake: make(chan struct{}, 1), busy: map[conversation]bool{}, count: map[place]int{}, stopping: map[string]bool{},
		fetching: map[claim]func(){},
	}
}

// Wake makes Run look at the claims now.
func (e *Engine) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run answers claims until ctx ends, then waits for the turns under way to have stopped their runs.
func (e *Engine) Run(ctx context.Context) error {
	defer e.turns.Wait()
	tick := time.NewTimer(lookAgain)
	defer tick.Stop()
	for {
		if notYet := e.look(ctx); notYet {
			tick.Reset(lookSoon)
		} else {
			tick.Reset(lookAgain)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-e.wake:
		case <-tick.C:
		}
	}
}

// look starts the first claim of every conversation that has no turn running, and stops what is not wanted any
// more. Not yet means that it is to look again soon.
func (e *Engine) look(ctx context.Context) (notYet bool) {
	var claims []store.ClaimRow
	err := e.o.Store.View(func(v *store.View) error {
		claims = v.AllClaims()
		return nil
	})
	if err != nil {
		e.o.Log.Error("cannot read the claims", "err", err)
		return false
	}
	concurrent := e.o.Limits().Concurrent
	passed := map[conversation]bool{} // a place that becomes free meanwhile is not for the second of them
	for _, row := range claims {
		key := keyOf(row)
		if ctx.Err() == nil && !passed[key] && e.begin(key, concurrent) {
			e.turns.Go(func() {
				e.answer(ctx, row)
				e.end(key)
			})
		}
		passed[key] = true
	}
	return ctx.Err() == nil && e.stopMarked(claims)
}

func (e *Engine) begin(key conversation, concurrent int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if key.job {
		concurrent = maxJobs
	}
	at := place{key.account, key.job}
	if e.busy[key] || e.count[at] >= concurrent {
		return false
	}
	e.busy[key] = true
	e.count[at]++
	return true
}

func (e *Engine) end(key conversation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.busy, key)
	e.count[place{key.account, key.job}]--
	e.Wake()
}
