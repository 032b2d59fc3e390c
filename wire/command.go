package wire

// Command is one DaemonCommand: what a daemon.control message asks for.
type Command interface{ Action() string }

// StatusCommand asks for DaemonStatus.
type StatusCommand struct{}

// ReloadCommand rereads the configuration and reconciles now.
type ReloadCommand struct{}

// ChannelSetCommand enables or disables one account; nil options keep their saved value.
type ChannelSetCommand struct {
	Channel     string       `json:"channel"`
	Account     string       `json:"account"`
	Enabled     bool         `json:"enabled"`
	Workspace   *string      `json:"workspace"`
	RemoteTools *RemoteTools `json:"remote_tools,omitzero"`
	Senders     *Senders     `json:"senders,omitzero"`
}

// ChannelLogoutCommand stops one account and removes its credentials and state.
type ChannelLogoutCommand struct {
	Channel string `json:"channel"`
	Account string `json:"account"`
}

// DelegationsCommand lists running delegations; All adds orphans awaiting clean-up.
type DelegationsCommand struct {
	All bool `json:"all"`
}

// DelegationKillCommand stops one delegation by handle, or every orphan (then Handle is ignored).
type DelegationKillCommand struct {
	Handle  *string `json:"handle,omitzero"`
	Orphans bool    `json:"orphans"`
}

// RestartWhenIdleCommand restarts into the installed release once owner work has ended.
type RestartWhenIdleCommand struct {
	Version        *string `json:"version,omitzero"`
	Commit         *string `json:"commit,omitzero"`
	Parent         *string `json:"parent,omitzero"` // the caller's SCV_PARENT
	MaxWaitSeconds *uint64 `json:"max_wait_seconds,omitzero"`
}

// ConfirmAskCommand asks the owner a yes/no question in chat.
type ConfirmAskCommand struct {
	Question       string  `json:"question"`
	Parent         *string `json:"parent,omitzero"` // the caller's SCV_PARENT; a claim, never proof
	TimeoutSeconds *uint64 `json:"timeout_seconds,omitzero"`
}

// ConfirmStatusCommand asks where a question stands, and thereby keeps it alive.
type ConfirmStatusCommand struct {
	ID string `json:"id"`
}

// The action names, as they stand in JSON.
func (StatusCommand) Action() string          { return "status" }
func (ReloadCommand) Action() string          { return "reload" }
func (ChannelSetCommand) Action() string      { return "channel_set" }
func (ChannelLogoutCommand) Action() string   { return "channel_logout" }
func (DelegationsCommand) Action() string     { return "delegations" }
func (DelegationKillCommand) Action() string  { return "delegation_kill" }
func (RestartWhenIdleCommand) Action() string { return "restart_when_idle" }
func (ConfirmAskCommand) Action() string      { return "confirm_ask" }
func (ConfirmStatusCommand) Action() string   { return "confirm_status" }

func (*StatusCommand) fields() []field { return nil }
func (*ReloadCommand) fields() []field { return nil }

func (c *ChannelSetCommand) fields() []field {
	return []field{
		required("channel", &c.Channel, readText),
		required("account", &c.Account, readText),
		required("enabled", &c.Enabled, readBool),
		optional("workspace", &c.Workspace, readText),
		optional("remote_tools", &c.RemoteTools, readRemoteTools),
		optional("senders", &c.Senders, readSenders),
	}
}

func (c *ChannelLogoutCommand) fields() []field {
	return []field{
		required("channel", &c.Channel, readText),
		required("account", &c.Account, readText),
	}
}

func (c *DelegationsCommand) fields() []field {
	return []field{defaulted("all", &c.All, false, readBool)}
}

func (c *DelegationKillCommand) fields() []field {
	return []field{
		optional("handle", &c.Handle, readText),
		defaulted("orphans", &c.Orphans, false, readBool),
	}
}

func (c *RestartWhenIdleCommand) fields() []field {
	return []field{
		optional("version", &c.Version, readText),
		optional("commit", &c.Commit, readText),
		optional("parent", &c.Parent, readText),
		optional("max_wait_seconds", &c.MaxWaitSeconds, readUint64),
	}
}

func (c *ConfirmAskCommand) fields() []field {
	return []field{
		required("question", &c.Question, readText),
		optional("parent", &c.Parent, readText),
		optional("timeout_seconds", &c.TimeoutSeconds, readUint64),
	}
}

func (c *ConfirmStatusCommand) fields() []field {
	return []field{required("id", &c.ID, readText)}
}
