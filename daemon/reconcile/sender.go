package reconcile

import (
	"context"
	"io"

	"scv/daemon/channel"
)

// Adapter is the account's adapter while it is starting, connected or disconnected. It serves for Send
// and MaxText, and where it is a Carrier for Fetch and MaxUpload; Send and Fetch refuse once the attempt is over,
// end with it, and never panic.
func (l *Loop) Adapter(id string) (channel.Adapter, bool) {
	s := l.sender(id)
	if s == nil {
		return nil, false
	}
	if carrier, carries := s.attempt.adapter.(channel.Carrier); carries {
		return &fileSender{s, carrier}, true
	}
	return s, true
}

// Typist is that adapter where it is one.
func (l *Loop) Typist(id string) (channel.Typist, bool) {
	if s := l.sender(id); s != nil {
		if inner, types := s.attempt.adapter.(channel.Typist); types {
			return typist{s, inner}, true
		}
	}
	return nil, false
}

// sender is nil while there is no adapter.
func (l *Loop) sender(id string) *sender {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[id]
	if a == nil || a.run == nil || a.run.asked || a.run.attempt == nil || a.run.attempt.adapter == nil {
		return nil
	}
	return &sender{loop: l, in: a.run, attempt: a.run.attempt}
}

// sender is an adapter as others see it.
type sender struct {
	loop    *Loop
	in      *instance
	attempt *attempt
}

// fileSender is one that carries files.
type fileSender struct {
	*sender
	carrier channel.Carrier
}

// Serve is the loop's alone.
func (s *sender) Serve(context.Context) error { return errNotRunning }

// MaxText is as the adapter said when it was made.
func (s *sender) MaxText() int { return s.attempt.maxText }

// Send hands a part to the adapter.
func (s *sender) Send(ctx context.Context, out channel.Outgoing) (receipt channel.Receipt, err error) {
	err = s.use(ctx, func(ctx context.Context) error {
		receipt, err = s.attempt.adapter.Send(ctx, out)
		return err
	})
	return receipt, err
}

// Fetch has the adapter fetch a file.
func (s *fileSender) Fetch(ctx context.Context, file channel.File, w io.Writer, limit int64) error {
	return s.use(ctx, func(ctx context.Context) error { return s.carrier.Fetch(ctx, file, w, limit) })
}

// MaxUpload is as the adapter says.
func (s *fileSender) MaxUpload(kind channel.FileKind) (bytes int64) {
	_ = s.loop.contain(s.in.account.id, func() error {
		bytes = s.carrier.MaxUpload(kind)
		return nil
	})
	return bytes
}

// use does something with the adapter. Nothing takes the attempt's place before that returned, so it is
// cancelled when the attempt ends.
func (s *sender) use(ctx context.Context, do func(context.Context) error) error {
	s.loop.mu.Lock()
	if s.in.attempt != s.attempt || s.in.asked {
		s.loop.mu.Unlock()
		return errNotRunning
	}
	s.attempt.sends.Add(1)
	s.loop.mu.Unlock()
	defer s.attempt.sends.Done()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.attempt.ctx, cancel)()
	return s.loop.contain(s.in.account.id, func() error { return do(ctx) })
}

// typist is an adapter as whoever shows that it writes sees it.
type typist struct {
	sender *sender
	inner  channel.Typist
}

func (t typist) TakesProgress() bool { return t.inner.TakesProgress() }

func (t typist) Typing(ctx context.Context, chat, handle string) {
	_ = t.sender.use(ctx, func(ctx context.Context) error { // nothing hangs on it
		t.inner.Typing(ctx, chat, handle)
		return nil
	})
}
