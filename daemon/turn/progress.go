package turn

import (
	"bytes"
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"scv/daemon/agent"
	"scv/daemon/channel"
	"scv/daemon/delegation"
	"scv/store"
)

// This file tells a chat what its agent does while a turn lasts long. Only the owner's chat hears of it, and only
// in a turn with tools: the names of tools are made of commands and paths.

const (
	longestSilence = 10 * time.Minute // each line comes twice as late as the one before, but no later than this
	maxDoing       = 200              // bytes of what the agent says that it does
	lookedAt       = 64 << 10         // bytes of an output that are looked at for it
)

// doing is what the agent of a turn does now.
type doing struct {
	mu   sync.Mutex
	line string
}

func (d *doing) set(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.line = line
}

func (d *doing) get() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.line
}

// printing gives what a per-turn agent does by the last line of its output that says so.
func printing(a agent.Agent, run *delegation.Run) func() string {
	talk, tells := a.(agent.Talkative)
	if !tells {
		return nil
	}
	var last string
	var offset int64
	return func() string {
		text, end := run.Printed(offset, lookedAt)
		whole := bytes.LastIndexByte(text, '\n') + 1
		offset = end - int64(len(text)-whole)
		for line := range bytes.Lines(text[:whole]) {
			if told := talk.Progress(line); told != "" {
				last = told
			}
		}
		return last
	}
}

// showWork shows the chat of a claim that its agent works, until stop is called: that somebody is writing, where
// its platform shows that, and what is done, in words, where those are welcome. A platform that takes back what was
// shown is not waited for: the reply comes first.
func (e *Engine) showWork(ctx context.Context, row store.ClaimRow, a agent.Agent, does func() string) (stop func()) {
	typist, types := e.o.Typist(row.Account)
	if !types {
		return e.tellProgress(ctx, row, a, does)
	}
	typing, cancel := context.WithCancel(ctx)
	if row.Claim.Owner && row.Claim.Job == nil {
		e.turns.Go(func() { typist.Typing(typing, row.Claim.Chat, row.Claim.ReplyHandle) })
	}
	if !typist.TakesProgress() {
		return cancel
	}
	told := e.tellProgress(ctx, row, a, does)
	return func() {
		cancel()
		told()
	}
}

// tellProgress tells the chat of a claim what its agent does, where it may hear of that, until stop is called.
func (e *Engine) tellProgress(ctx context.Context, row store.ClaimRow, a agent.Agent, does func() string) (stop func()) {
	if does == nil || !e.hearsProgress(row) {
		return func() {}
	}
	first := e.o.Limits().Progress
	ctx, cancel := context.WithCancel(ctx)
	var telling sync.WaitGroup
	telling.Go(func() {
		tellNowAndThen(ctx, first, does, func(line string) bool { return e.queueProgress(ctx, row, a.Name(), line) })
	})
	return func() {
		cancel()
		telling.Wait()
	}
}

// hearsProgress reports whether anybody is to hear what the agent of a claim does. Of background work there is
// the report.
func (e *Engine) hearsProgress(row store.ClaimRow) bool {
	if e.o.Limits().Progress <= 0 || row.Claim.Job != nil {
		return false
	}
	settings, err := e.settings(row.Account)
	return err == nil && granted(row, settings)
}

// tellNowAndThen tells what is done whenever that is due and has changed: after a while, and then more and more
// seldom. tell reports whether it told.
func tellNowAndThen(ctx context.Context, first time.Duration, does func() string, tell func(line string) bool) {
	pause, told := first, ""
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if line := does(); line != "" && line != told && tell(line) {
			told, pause = line, max(first, min(2*pause, longestSilence))
		}
		timer.Reset(pause)
	}
}

// queueProgress queues a line for the chat, unless something waits there already: by the time that is sent it
// would be old. The claim is still there, so the line comes before the reply.
func (e *Engine) queueProgress(ctx context.Context, row store.ClaimRow, name, line string) (queued bool) {
	line = agent.Clean(strings.Join(strings.Fields(line), " "))
	line = strings.ToValidUTF8(line[:min(len(line), maxDoing)], "")
	err := e.o.Store.Deliver(ctx, func(tx *store.Delivery) error {
		_, there := find(&tx.View, row)
		_, waits := tx.Head(row.Account)
		if queued = there && !waits; !queued {
			return nil
		}
		_, err := tx.AddOutbound(row.Account, store.Outbound{
			Kind: string(channel.Progress), Chat: row.Claim.Chat, ReplyHandle: row.Claim.ReplyHandle,
			Text: name + " is at work: " + line, ClientID: progressID(row) + "-" + rand.Text()[:8],
			Transient: true, Queued: e.o.Clock.Now(),
		})
		return err
	})
	if err != nil {
		if ctx.Err() == nil {
			e.fault("cannot queue a line of progress", row.Account, err)
		}
		return false
	}
	if queued {
		e.o.Replied()
	}
	return queued
}

// progressID is what the ids of all lines of progress of a claim begin with.
func progressID(row store.ClaimRow) string { return "p" + clientID(row) }

// forgetProgress drops a line of progress that was not delivered before the reply. There is one at most: it was
// queued where nothing waited.
func forgetProgress(tx *store.Delivery, row store.ClaimRow) error {
	head, waits := tx.Head(row.Account)
	if !waits || head.Kind != string(channel.Progress) || !strings.HasPrefix(head.ClientID, progressID(row)+"-") {
		return nil
	}
	return tx.DeleteOutbound(row.Account, head.Seq)
}
