package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"scv/daemon/channel"
	"scv/internal/clock"
)

// instance keeps one account running with one set of settings: attempt, back-off, attempt. It owns a
// goroutine. The fields below done are guarded by Loop.mu.
type instance struct {
	account *account
	desired Desired
	ctx     context.Context
	cancel  context.CancelFunc
	late    chan struct{} // closed when the grace ran out
	done    chan struct{} // closed when it is joined

	asked   bool // to stop
	grace   *time.Timer
	attempt *attempt // the present one; nil between attempts
}

// attempt is one life of an adapter.
type attempt struct {
	ctx     context.Context // ends with the attempt, and with it whatever the adapter hung on it
	cancel  context.CancelFunc
	adapter channel.Adapter // nil until it is made
	maxText int
	sends   sync.WaitGroup // those under way; added to under Loop.mu while it is the present attempt
}

// begin starts an instance; mu is held and nothing of the account runs.
func (l *Loop) begin(ctx context.Context, a *account) {
	in := &instance{account: a, desired: a.want, late: make(chan struct{}), done: make(chan struct{})}
	// Not cancelled with Run: the shut-down asks each account by itself, so that its state says so.
	in.ctx, in.cancel = context.WithCancel(context.WithoutCancel(ctx))
	a.run = in
	l.on(a, nil, a.start)
	go l.keep(in)
}

// stop asks an instance to end; mu is held. keep joins it.
func (l *Loop) stop(a *account) {
	in := a.run
	if in.asked {
		return
	}
	in.asked = true
	l.on(a, nil, a.component.asked)
	in.grace = time.AfterFunc(l.StopGrace, func() { l.reportLate(in) })
	in.cancel()
}

// reportLate says that an instance did not stop in time. Nothing takes its place until it is joined.
func (l *Loop) reportLate(in *instance) {
	l.mu.Lock()
	if in.over() {
		l.mu.Unlock()
		return
	}
	close(in.late)
	in.account.overdue(saysOverdue)
	l.unlock()
	l.Log.Warn("account does not stop; nothing takes its place until it does", "account", in.account.id)
	l.Wake()
}

// over reports whether nobody need wait for the instance any more.
func (in *instance) over() bool {
	select {
	case <-in.done:
		return true
	case <-in.late:
		return true
	default:
		return false
	}
}

// wait waits for a stop that was asked for: true when it was joined, false when it is late or ctx ended.
func (in *instance) wait(ctx context.Context) bool {
	select {
	case <-in.done:
		return true
	case <-in.late:
	case <-ctx.Done():
	}
	select {
	case <-in.done: // it may have been joined after it was late
		return true
	default:
		return false
	}
}

// keep runs attempts until the instance is asked to stop or needs a person.
func (l *Loop) keep(in *instance) {
	defer l.join(in)
	b := backoff{min: l.MinDelay, max: l.MaxDelay, stable: l.StableAfter}
	for {
		began := l.Clock.Now()
		a, ok := l.present(in)
		if !ok {
			return
		}
		err := l.serve(in, a)
		again := l.attemptEnded(in, err)
		a.cancel()
		a.sends.Wait() // never two adapters of one account, not even to finish a sentence
		if !again || !clock.Pause(in.ctx, jitter(b.after(l.Clock.Now().Since(began)))) {
			return
		}
	}
}

// present makes a new attempt the present one, unless the instance was asked to stop.
func (l *Loop) present(in *instance) (*attempt, bool) {
	l.mu.Lock()
	defer l.unlock()
	if in.asked {
		return nil, false
	}
	in.attempt = &attempt{}
	in.attempt.ctx, in.attempt.cancel = context.WithCancel(in.ctx)
	l.on(in.account, nil, in.account.start)
	return in.attempt, true
}

// serve makes the adapter and runs it until it ends.
func (l *Loop) serve(in *instance, a *attempt) error {
	return l.contain(in.account.id, func() error {
		adapter, err := l.Make(in.desired, l.host(in, a))
		if err != nil {
			return err
		}
		maxText := adapter.MaxText()
		l.mu.Lock()
		a.adapter, a.maxText = adapter, maxText
		l.unlock()
		l.Changed() // the account can send now
		return adapter.Serve(a.ctx)
	})
}

// attemptEnded says what follows an attempt: another one, or nothing.
func (l *Loop) attemptEnded(in *instance, err error) (again bool) {
	l.mu.Lock()
	defer l.unlock()
	in.attempt = nil
	if in.asked {
		return false
	}
	acc := in.account
	if p, ok := errors.AsType[*channel.PermanentError](err); ok {
		l.on(acc, err, func() { acc.needsPerson(cmp.Or(sentence(p.Advice), saysSomething)) })
		return false
	}
	says := saysEnded
	if errors.Is(err, errPanic) {
		says = saysPanicked
	}
	l.on(acc, err, func() { acc.crashed(says) })
	return true
}

// join is the last act of an instance, even when its adapter ended the goroutine.
func (l *Loop) join(in *instance) {
	l.mu.Lock()
	if in.grace != nil {
		in.grace.Stop()
	}
	in.cancel()
	in.attempt = nil
	a := in.account
	a.run, a.tried = nil, in.desired
	l.on(a, nil, a.joined)
	close(in.done)
	l.unlock()
	l.Wake()
}

// host is what the adapter of one attempt may call. What comes after the attempt's end is refused or
// ignored: a goroutine that an adapter left behind must not speak for its successor.
func (l *Loop) host(in *instance, a *attempt) channel.Host {
	present := func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if in.attempt != a {
			return errNotRunning
		}
		return nil
	}
	return channel.Host{
		Receive: func(ctx context.Context, batch []channel.Message) error {
			if err := present(); err != nil {
				return err
			}
			return l.Receive(ctx, in.account.id, batch)
		},
		ReceiveTo: func(ctx context.Context, batch []channel.Message, cursor string) error {
			if err := present(); err != nil {
				return err
			}
			return l.ReceiveTo(ctx, in.account.id, batch, cursor)
		},
		Cursor: func() (string, error) { return l.Cursor(in.account.id) },
		Contact: func(err error) {
			now := l.Clock.Now()
			l.mu.Lock()
			defer l.unlock()
			if in.attempt != a {
				return
			}
			l.on(in.account, err, func() {
				if err == nil {
					in.account.contacted(now)
				} else {
					in.account.lost(cmp.Or(sentence(err.Error()), saysSomething))
				}
			})
		},
	}
}

var (
	errPanic      = errors.New("the adapter panicked")
	errNotRunning = errors.New("the account is not running")
)

// contain calls fn and makes a panic an error. The panic's own text may hold a message or a secret, so
// only the runtime's is kept; the stack names functions and lines.
func (l *Loop) contain(id string, fn func() error) (err error) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		what := fmt.Sprintf("%T", r)
		if re, ok := r.(runtime.Error); ok {
			what = re.Error()
		}
		l.Log.Error("adapter panicked", "account", id, "panic", what, "stack", string(debug.Stack()))
		err = fmt.Errorf("%w: %s", errPanic, what)
	}()
	return fn()
}

// backoff doubles the delay from min to max; a run that lasted takes it back to min.
type backoff struct{ min, max, stable, last time.Duration }

func (b *backoff) after(lasted time.Duration) time.Duration {
	if b.last == 0 || lasted >= b.stable {
		b.last = min(b.min, b.max)
	} else {
		b.last = min(2*b.last, b.max)
	}
	return b.last
}

// jitter spreads a delay by ±10 %, so that accounts cut off together do not come back together.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}
