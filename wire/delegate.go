package wire

// MaxPrompt is the longest task of a delegation that the daemon starts, in bytes.
const MaxPrompt = 512 << 10

// DelegationStart is the request of daemon.delegation.start: the daemon runs an agent in the background and
// reports to the chat that asked.
type DelegationStart struct {
	Agent          string  `json:"agent"`
	Prompt         string  `json:"prompt"`                   // 1 byte..MaxPrompt
	Cwd            string  `json:"cwd"`                      // absolute folder to work in
	Conversation   *string `json:"conversation,omitzero"`    // to go on with, 1..64 of [A-Za-z0-9._-]
	TimeoutSeconds *uint64 `json:"timeout_seconds,omitzero"` // nil: as long as a turn of the owner
}

// DelegationTicket is its reply, sent once the task is durable.
type DelegationTicket struct {
	Handle string `json:"handle"`
}

// DelegationRegister is the request of daemon.delegation.register. A process that runs an agent itself sends
// it twice: without a pid before it starts the agent, with it before the agent is told its task. A repeat
// by the same owner is no new run.
type DelegationRegister struct {
	Handle       string  `json:"handle"` // <agent>-<6 hex>, chosen by the owner
	Agent        string  `json:"agent"`
	Cwd          string  `json:"cwd"`
	Conversation *string `json:"conversation,omitzero"`
	PID          *uint32 `json:"pid,omitzero"` // of the agent: a living descendant of the owner that carries the tag
}

// DelegationLease is its reply: what the daemon found out about the owner, and gives the run.
type DelegationLease struct {
	Parent       string  `json:"parent"`                 // SCV_PARENT of the run's processes
	Depth        uint32  `json:"depth"`                  // their SCV_DELEGATION_DEPTH
	Tools        bool    `json:"tools"`                  // the run may use tools
	AgentSession *string `json:"agent_session,omitzero"` // the agent's own id of the conversation so far
}

// DelegationUpdate is the request of daemon.delegation.update: the owner's run has ended. Its reply is the
// DelegationReport.
type DelegationUpdate struct {
	Handle       string            `json:"handle"`
	Outcome      DelegationOutcome `json:"outcome"`
	AgentSession *string           `json:"agent_session,omitzero"`
}

// DelegationHandle is the request of daemon.delegation.wait and daemon.delegation.explain.
type DelegationHandle struct {
	Handle string `json:"handle"`
}

// DelegationOutcome is how a run stands. All but running are final.
type DelegationOutcome string

const (
	RunRunning  DelegationOutcome = "running"
	RunFinished DelegationOutcome = "finished" // the agent answered
	RunFailed   DelegationOutcome = "failed"   // it ended without an answer, or could not be started
	RunKilled   DelegationOutcome = "killed"   // it was stopped
	RunLost     DelegationOutcome = "lost"     // SCV or the machine went down meanwhile
)

// DelegationReport is the reply of daemon.delegation.wait and of update, and, without its text, the payload
// of daemon.event.delegation.<handle>. It can be read for 24 hours after the end.
type DelegationReport struct {
	Handle           string            `json:"handle"`
	Agent            string            `json:"agent"`
	Outcome          DelegationOutcome `json:"outcome"`
	Text             *string           `json:"text,omitzero"` // the answer, or why there is none
	EndedUnixSeconds *uint64           `json:"ended_unix_seconds,omitzero"`
}

// DelegationEvidence is the reply of daemon.delegation.explain: by what each process is known to belong to a run.
type DelegationEvidence struct {
	Handle    string        `json:"handle"`
	Processes []ProcessTied `json:"processes"` // sorted by pid
}

// ProcessTied is one process of a run.
type ProcessTied struct {
	PID  uint32  `json:"pid"`
	Name string  `json:"name"`         // of its program, as the kernel gives it
	How  string  `json:"how"`          // leader, cgroup, group, tag, below, or seen before
	Via  *uint32 `json:"via,omitzero"` // the process it is below
}

var readDelegationOutcome = oneOf(RunRunning, RunFinished, RunFailed, RunKilled, RunLost)

func (d *DelegationStart) fields() []field {
	return []field{
		required("agent", &d.Agent, readText),
		required("prompt", &d.Prompt, readText),
		required("cwd", &d.Cwd, readText),
		optional("conversation", &d.Conversation, readText),
		optional("timeout_seconds", &d.TimeoutSeconds, readUint64),
	}
}

func (d *DelegationTicket) fields() []field {
	return []field{required("handle", &d.Handle, readText)}
}

func (d *DelegationRegister) fields() []field {
	return []field{
		required("handle", &d.Handle, readText),
		required("agent", &d.Agent, readText),
		required("cwd", &d.Cwd, readText),
		optional("conversation", &d.Conversation, readText),
		optional("pid", &d.PID, readUint32),
	}
}

func (d *DelegationLease) fields() []field {
	return []field{
		required("parent", &d.Parent, readText),
		required("depth", &d.Depth, readUint32),
		required("tools", &d.Tools, readBool),
		optional("agent_session", &d.AgentSession, readText),
	}
}

func (d *DelegationUpdate) fields() []field {
	return []field{
		required("handle", &d.Handle, readText),
		required("outcome", &d.Outcome, readDelegationOutcome),
		optional("agent_session", &d.AgentSession, readText),
	}
}

func (d *DelegationHandle) fields() []field {
	return []field{required("handle", &d.Handle, readText)}
}

func (d *DelegationReport) fields() []field {
	return []field{
		required("handle", &d.Handle, readText),
		required("agent", &d.Agent, readText),
		required("outcome", &d.Outcome, readDelegationOutcome),
		optional("text", &d.Text, readText),
		optional("ended_unix_seconds", &d.EndedUnixSeconds, readUint64),
	}
}

func (d *DelegationEvidence) fields() []field {
	return []field{
		required("handle", &d.Handle, readText),
		required("processes", &d.Processes, listOf(readObject[ProcessTied])),
	}
}

func (p *ProcessTied) fields() []field {
	return []field{
		required("pid", &p.PID, readUint32),
		required("name", &p.Name, readText),
		required("how", &p.How, readText),
		optional("via", &p.Via, readUint32),
	}
}
