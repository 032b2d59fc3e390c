package wire

// RestartExplain is the request of daemon.restart.explain: what stands in the way of a restart, without asking
// for one, or with an id how that restart stands.
type RestartExplain struct {
	ID      *string `json:"id,omitzero"`
	Version *string `json:"version,omitzero"` // as in restart_when_idle
	Commit  *string `json:"commit,omitzero"`
}

// RestartDetail is its reply. Refusal says why no restart would be taken on; Outcome is there once it has ended.
type RestartDetail struct {
	ID       *string      `json:"id,omitzero"`      // of the plan under way, or the one asked about
	Restart  *RestartInfo `json:"restart,omitzero"` // the plan under way
	Into     *string      `json:"into,omitzero"`    // version that a restart now would go over to
	Refusal  *string      `json:"refusal,omitzero"`
	Blockers []string     `json:"blockers"` // what it waits for or would wait for, in the words of waiting_for
	Cut      []string     `json:"cut"`      // handles of the work that a restart now, or its deadline, would cut
	Updated  *bool        `json:"updated,omitzero"`
	Outcome  *string      `json:"outcome,omitzero"`
}

func (r *RestartExplain) fields() []field {
	return []field{
		optional("id", &r.ID, readText),
		optional("version", &r.Version, readText),
		optional("commit", &r.Commit, readText),
	}
}

func (r *RestartDetail) fields() []field {
	return []field{
		optional("id", &r.ID, readText),
		optional("restart", &r.Restart, readObject[RestartInfo]),
		optional("into", &r.Into, readText),
		optional("refusal", &r.Refusal, readText),
		required("blockers", &r.Blockers, listOf(readText)),
		required("cut", &r.Cut, listOf(readText)),
		optional("updated", &r.Updated, readBool),
		optional("outcome", &r.Outcome, readText),
	}
}
