package wire

// AccountSet is the request of daemon.account.set: any of an account's settings in one
// transaction. Nil keeps the saved value. It is the one door for Agent, which the seed lacks.
type AccountSet struct {
	Channel     string       `json:"channel"`
	Account     string       `json:"account"`
	Enabled     *bool        `json:"enabled,omitzero"`
	Workspace   *string      `json:"workspace,omitzero"` // "": back to the default
	RemoteTools *RemoteTools `json:"remote_tools,omitzero"`
	Senders     *Senders     `json:"senders,omitzero"`
	Agent       *string      `json:"agent,omitzero"` // a name from config.toml; "" goes back to the default rule
}

// AccountSettings is the reply of daemon.account.set.
type AccountSettings struct {
	Component ComponentHealth `json:"component"`
	Workspace *string         `json:"workspace,omitzero"` // nil: the configured default
	Agent     *string         `json:"agent,omitzero"`     // nil: the only one configured
}

func (a *AccountSet) fields() []field {
	return []field{
		required("channel", &a.Channel, readText),
		required("account", &a.Account, readText),
		optional("enabled", &a.Enabled, readBool),
		optional("workspace", &a.Workspace, readText),
		optional("remote_tools", &a.RemoteTools, readRemoteTools),
		optional("senders", &a.Senders, readSenders),
		optional("agent", &a.Agent, readText),
	}
}

func (a *AccountSettings) fields() []field {
	return []field{
		required("component", &a.Component, readObject[ComponentHealth]),
		optional("workspace", &a.Workspace, readText),
		optional("agent", &a.Agent, readText),
	}
}
