package main

import (
	"context"
	"strings"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// This file is what a nested SCV tells beyond the answers to its tasks: reports of background work that
// came in between, and how much of it still runs.

// watch tells whenever the number of background jobs has changed.
func (n *nestedAgent) watch(ctx context.Context) {
	tick := time.NewTicker(nestedLook)
	defer tick.Stop()
	for {
		n.tell(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tell says how many background jobs run. While that cannot be asked, what was said last stands.
func (n *nestedAgent) tell(ctx context.Context) {
	jobs, err := n.backgroundJobs()
	if err != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if jobs == n.told {
		return
	}
	if n.conn.NotifyExtension(ctx, "_scv/background_jobs", map[string]any{"count": jobs}) == nil {
		n.told = jobs
	}
}

// backgroundJobs counts the background runs, those of SCVs nested deeper among them. A daemon without runs
// is asked for nothing that costs it a look at its processes.
func (n *nestedAgent) backgroundJobs() (jobs uint32, err error) {
	status, err := n.status(wire.StatusCommand{})
	if err != nil || status.Delegations.Active == 0 {
		return 0, err
	}
	if status, err = n.status(wire.DelegationsCommand{}); err != nil {
		return 0, err
	}
	for _, e := range status.Delegations.Entries {
		if e.Conversation != nil && e.Turn == nil {
			jobs++
		}
		if e.BackgroundJobs != nil {
			jobs += *e.BackgroundJobs
		}
	}
	return jobs, nil
}

// lines is what the chat showed after a line.
func (n *nestedAgent) lines(after uint64) (lines []wire.ChatLine, err error) {
	err = n.a.call(readLimit, func(ctx context.Context, client *bus.Client) error {
		got, err := client.ChatAttach(ctx, wire.ChatAttach{Account: localAccount, AfterSeq: &after})
		lines = got.Lines
		return err
	})
	return lines, err
}

// reported is the line of the chat up to which its reports were passed on: the last answer to a task. It
// is read from the chat itself, so that nothing is lost while no agent runs.
func (n *nestedAgent) reported() (seq uint64, err error) {
	lines, err := n.lines(0)
	if err != nil {
		return 0, err
	}
	for _, l := range lines {
		if l.InReplyTo != nil && strings.HasPrefix(*l.InReplyTo, nestedPrefix) {
			seq = l.Seq
		}
	}
	if seq == 0 && len(lines) > 0 {
		seq = lines[len(lines)-1].Seq // what was said before the first task is none of ours
	}
	return seq, nil
}

// news are the notices between two lines: reports of work that was begun in an earlier turn.
func (n *nestedAgent) news(after, until uint64) (texts []string, err error) {
	lines, err := n.lines(after)
	for _, l := range lines {
		if l.Seq < until && l.Kind == wire.ChatNotice && l.InReplyTo == nil {
			texts = append(texts, l.Text)
		}
	}
	return texts, err
}
