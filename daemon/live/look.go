package live

import (
	"context"
	"maps"
	"slices"

	"scv/store"
	"scv/wire"
)

// look records what runs in the background of the agents, and closes those that have waited long enough or
// may not work for their chat any more. A daemon without live agents does nothing here.
func (p *Pool) look(ctx context.Context) {
	p.mu.Lock()
	residents := slices.Collect(maps.Values(p.residents))
	p.mu.Unlock()
	if len(residents) == 0 {
		return
	}
	for _, r := range residents {
		p.noteJobs(ctx, r)
	}
	asking, allowed := map[string]bool{}, map[*resident]bool{}
	err := p.o.Store.View(func(v *store.View) error {
		for _, c := range v.OpenConfirms() {
			asking[c.Asker] = true
		}
		for _, r := range residents {
			account, known := v.Account(r.key.Account)
			allowed[r] = known && account.Enabled && (!r.with.tools || account.RemoteTools == wire.ToolsOwner)
		}
		return nil
	})
	if err != nil {
		p.o.Log.Error("cannot read whether live agents are still wanted", "err", err)
		return
	}
	for _, r := range residents {
		p.judge(r, allowed[r], asking[r.handle])
	}
}

// noteJobs records how much runs in an agent's background, when that has changed.
func (p *Pool) noteJobs(ctx context.Context, r *resident) {
	p.mu.Lock()
	if r.session == nil || r.state == leaving || r.session.BackgroundJobs() == r.jobs {
		p.mu.Unlock()
		return
	}
	jobs := r.session.BackgroundJobs()
	p.mu.Unlock()
	if err := p.o.Runs.BackgroundJobs(ctx, r.handle, jobs); err != nil {
		p.o.Log.Error("cannot record an agent's background jobs, trying again", "handle", r.handle, "err", err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r.jobs = jobs
}

// judge closes an idle agent that is not allowed any more, or that has waited long enough with nothing
// under way: no job in its background and no question to its owner.
func (p *Pool) judge(r *resident, allowed, asks bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case r.state != idle:
	case !allowed:
		p.leave(r, "because it may not work for this chat any more")
	case asks || r.jobs > 0 || r.session.BackgroundJobs() > 0:
	case p.o.Clock.Now().Since(r.since) >= p.o.IdleClose:
		p.o.Log.Info("closing a live agent that nobody has needed for a while", "handle", r.handle)
		p.leave(r, "because nobody needed it")
	}
}

// Working are the runs of the agents that are in the middle of a turn.
func (p *Pool) Working() (handles []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.residents {
		if r.state == working {
			handles = append(handles, r.handle)
		}
	}
	return handles
}
