package wire

// DaemonStatus is the reply to every accepted DaemonCommand.
type DaemonStatus struct {
	Version     string            `json:"version"`
	PID         uint32            `json:"pid"`
	Components  []ComponentHealth `json:"components"` // sorted by id
	Delegations DelegationSummary `json:"delegations"`
	Restart     *RestartInfo      `json:"restart,omitzero"`
	Confirm     *ConfirmInfo      `json:"confirm,omitzero"` // only for the two confirm actions
}

// RestartInfo is a restart into a newly installed release, waiting for owner work to end.
type RestartInfo struct {
	ToVersion           string  `json:"to_version"`
	WaitingFor          *string `json:"waiting_for,omitzero"` // absent once it restarts
	Requester           *string `json:"requester,omitzero"`   // the delegation that asked
	Origin              *string `json:"origin,omitzero"`      // <channel>:<account> of the announcement
	DeadlineUnixSeconds uint64  `json:"deadline_unix_seconds"`
}

func (s *DaemonStatus) fields() []field {
	return []field{
		required("version", &s.Version, readText),
		required("pid", &s.PID, readUint32),
		required("components", &s.Components, listOf(readObject[ComponentHealth])),
		defaulted("delegations", &s.Delegations, DelegationSummary{}, readObject[DelegationSummary]),
		optional("restart", &s.Restart, readObject[RestartInfo]),
		optional("confirm", &s.Confirm, readObject[ConfirmInfo]),
	}
}

func (i *RestartInfo) fields() []field {
	return []field{
		required("to_version", &i.ToVersion, readText),
		optional("waiting_for", &i.WaitingFor, readText),
		optional("requester", &i.Requester, readText),
		optional("origin", &i.Origin, readText),
		required("deadline_unix_seconds", &i.DeadlineUnixSeconds, readUint64),
	}
}
