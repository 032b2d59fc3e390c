package wechat

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"scv/daemon/channel"
)

// Options is what an adapter is made of.
type Options struct {
	Account     channel.Account
	Credentials Credentials
	Host        channel.Host
	Log         *slog.Logger
	HTTP        *http.Client // shared by all accounts
	Platform    Platform     // the zero one is WeChat itself
}

// Adapter is one attempt of one account.
type Adapter struct {
	o   Options
	api *api
	rhythm

	mu  sync.Mutex
	end context.CancelCauseFunc // of Serve; nil while it does not run
}

// rhythm is how long things wait. Tests have a shorter one.
type rhythm struct {
	poll         time.Duration // for an answer to a poll, at least
	grace        time.Duration // longer than the platform says that it holds one
	soonest      time.Duration // from one poll to the next where there is nothing new
	retry, slow  time.Duration // after a failure, doubling from the one to the other
	probe        time.Duration // for the first sign of life
	typing, hush time.Duration // between signs of typing; for the last of them
}

var usualRhythm = rhythm{
	poll: 50 * time.Second, grace: 15 * time.Second, soonest: time.Second, retry: time.Second, slow: 60 * time.Second,
	probe: 5 * time.Second, typing: 5 * time.Second, hush: 2 * time.Second,
}

// New makes an adapter. It does nothing yet.
func New(o Options) *Adapter {
	return &Adapter{o: o, api: newAPI(o.HTTP, o.Platform, o.Credentials), rhythm: usualRhythm}
}

// MaxText is the largest part in bytes, with room for what marks it.
func (a *Adapter) MaxText() int { return maxText }

// Serve polls until the sign-in is over or ctx ends. What fails otherwise it tries again itself, since sending may
// go on meanwhile.
func (a *Adapter) Serve(ctx context.Context) error {
	serving, end := context.WithCancelCause(ctx)
	a.set(end)
	err := a.follow(serving)
	if cause := context.Cause(serving); cause != nil && ctx.Err() == nil {
		err = cause // what a send found out
	}
	end(nil)
	a.set(nil)
	if ctx.Err() != nil {
		return nil
	}
	return permanent(a.o.Account, err)
}

func (a *Adapter) set(end context.CancelCauseFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end = end
}

// fail ends Serve with what a send found out.
func (a *Adapter) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end != nil {
		a.end(err)
	}
}

// needsOwner reports whether a failure is one that only the owner can end.
func needsOwner(err error) bool {
	a, ok := errors.AsType[*answer](err)
	return ok && a.fate == owner
}

var (
	_ channel.Carrier = (*Adapter)(nil)
	_ channel.Typist  = (*Adapter)(nil)
)
