package wire

// DelegationSummary counts the delegated agent runs of this instance, and lists them where asked.
type DelegationSummary struct {
	Active  uint64           `json:"active"` // not orphaned, idle ones included
	Idle    *uint64          `json:"idle,omitzero"`
	Reaped  uint64           `json:"reaped"` // orphans stopped since the daemon started
	Entries []DelegationInfo `json:"entries,omitempty"`
	Killed  []string         `json:"killed,omitempty"`
}

// DelegationInfo is one running delegated agent.
type DelegationInfo struct {
	Handle               string  `json:"handle"`
	Agent                string  `json:"agent"`
	Session              string  `json:"session"`
	Depth                uint32  `json:"depth"` // 1 for an agent SCV started directly
	PID                  uint32  `json:"pid"`   // and process group
	OwnerPID             uint32  `json:"owner_pid"`
	Processes            uint32  `json:"processes"`
	Cwd                  string  `json:"cwd"`
	StartedUnixSeconds   uint64  `json:"started_unix_seconds"`
	Orphaned             bool    `json:"orphaned"`
	Conversation         *string `json:"conversation,omitzero"`
	Turn                 *uint32 `json:"turn,omitzero"`
	IdleSinceUnixSeconds *uint64 `json:"idle_since_unix_seconds,omitzero"`
	BackgroundJobs       *uint32 `json:"background_jobs,omitzero"`
}

func (s *DelegationSummary) fields() []field {
	return []field{
		required("active", &s.Active, readUint64),
		optional("idle", &s.Idle, readUint64),
		required("reaped", &s.Reaped, readUint64),
		defaulted("entries", &s.Entries, nil, listOf(readObject[DelegationInfo])),
		defaulted("killed", &s.Killed, nil, listOf(readText)),
	}
}

func (d *DelegationInfo) fields() []field {
	return []field{
		required("handle", &d.Handle, readText),
		required("agent", &d.Agent, readText),
		required("session", &d.Session, readText),
		required("depth", &d.Depth, readUint32),
		required("pid", &d.PID, readUint32),
		required("owner_pid", &d.OwnerPID, readUint32),
		required("processes", &d.Processes, readUint32),
		required("cwd", &d.Cwd, readText),
		required("started_unix_seconds", &d.StartedUnixSeconds, readUint64),
		required("orphaned", &d.Orphaned, readBool),
		optional("conversation", &d.Conversation, readText),
		optional("turn", &d.Turn, readUint32),
		optional("idle_since_unix_seconds", &d.IdleSinceUnixSeconds, readUint64),
		optional("background_jobs", &d.BackgroundJobs, readUint32),
	}
}
