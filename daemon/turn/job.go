package turn

import (
	"scv/daemon/agent"
	"scv/daemon/channel"
	"scv/daemon/delegation"
	"scv/store"
	"scv/wire"
)

// This file is what a claim of a background delegation has of its own: nobody wrote it, it is known by a
// handle from the beginning, and its report goes to the chat that asked and to whoever waits.

// maxJobs is how many background delegations run at once in the name of one account; more wait.
const maxJobs = 16

// keyOf is what a claim's turn excludes others from: its conversation, or the one a background delegation
// goes on with. Those do not hold up the chat they report to.
func keyOf(row store.ClaimRow) conversation {
	if job := row.Claim.Job; job != nil {
		return conversation{account: row.Account, key: memory(row), job: true}
	}
	return conversation{account: row.Account, key: row.Claim.Conversation}
}

// memory is the conversation that the agent remembers: a job's own, or that of the chat.
func memory(row store.ClaimRow) string {
	job := row.Claim.Job
	switch {
	case job == nil:
		return row.Claim.Conversation
	case job.Memory != "":
		return job.Memory
	}
	return "delegate/" + job.Handle
}

// remembers reports whether a later run can go on where this one ends.
func remembers(row store.ClaimRow) bool { return row.Claim.Job == nil || row.Claim.Job.Memory != "" }

// answered is the message that a reply answers, "" where nobody wrote one.
func answered(row store.ClaimRow) string {
	if row.Claim.Job != nil {
		return ""
	}
	return row.Claim.MessageID
}

// about is the record of the run that is to answer the claim.
func (e *Engine) about(row store.ClaimRow, a agent.Agent, tools bool) (handle string, d store.Delegation, err error) {
	d = store.Delegation{
		Agent: a.Name(), Session: Session(row.Account, memory(row)), Account: row.Account,
		Conversation: row.Claim.Conversation, MessageID: row.Claim.MessageID,
	}
	if job := row.Claim.Job; job != nil {
		d.Parent, d.Depth, d.Tools, d.Background, d.Memory = job.Parent, job.Depth, tools, true, job.Memory
		return job.Handle, d, nil
	}
	d, err = e.o.Runs.Place(d, "")
	d.Tools = tools
	return delegation.NewHandle(a.Name()), d, err
}

// task is what a background delegation is to do. What its run may do was decided when it was asked for.
func (e *Engine) jobTask(row store.ClaimRow) (agent.Task, agent.Agent, error) {
	job := row.Claim.Job
	a, known := e.o.Agents().Get(job.Agent)
	if !known {
		return agent.Task{}, nil, say("The agent %q is no longer configured.", job.Agent)
	}
	return agent.Task{Prompt: row.Claim.Text, Tools: job.Tools, Owner: true, Workspace: job.Cwd}, a, nil
}

// report stores how a background delegation ended, for who waits, and words it for the chat.
func (e *Engine) report(tx *store.Delivery, row store.ClaimRow, r reply) (channel.Kind, string, error) {
	job := row.Claim.Job
	if job == nil {
		return r.kind, r.text, nil
	}
	err := tx.PutReport(job.Handle, store.RunReport{
		Agent: job.Agent, Parent: job.Parent, Outcome: r.outcome(), Text: r.text, Ended: e.o.Clock.Now(),
	})
	return channel.Notice, "Background run " + job.Handle + " " + outcomeWords[r.outcome()] + ":\n" + r.text, err
}

var outcomeWords = map[wire.DelegationOutcome]string{
	wire.RunFinished: "is finished", wire.RunFailed: "failed", wire.RunKilled: "was stopped", wire.RunLost: "was lost",
}

// outcome is how the run behind a reply ended.
func (r reply) outcome() wire.DelegationOutcome {
	switch {
	case r.ended != "":
		return r.ended
	case r.kind == channel.Reply:
		return wire.RunFinished
	}
	return wire.RunFailed
}
