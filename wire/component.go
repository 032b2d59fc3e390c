package wire

// ComponentState is where a channel account is in its lifecycle.
type ComponentState string

const (
	Disabled     ComponentState = "disabled"     // turned off in the settings
	Starting     ComponentState = "starting"     // before every run attempt
	Connected    ComponentState = "connected"    // the platform gave a fresh, authenticated answer
	Disconnected ComponentState = "disconnected" // running, but the last contact failed
	Backoff      ComponentState = "backoff"      // waiting before a restart after a failure
	Stopping     ComponentState = "stopping"     // shutting down
	Stopped      ComponentState = "stopped"      // not running
	Failed       ComponentState = "failed"       // stopped by an error that needs a person
)

// RemoteTools says who may use tools through an account.
type RemoteTools string

const (
	ToolsNone  RemoteTools = "none"  // every remote session is tool-free (the default)
	ToolsOwner RemoteTools = "owner" // the authenticated owner gets full, auto-approved tools
)

// Senders says whose messages an account answers.
type Senders string

const (
	SendersOwner  Senders = "owner"  // only the authenticated owner (the default)
	SendersAnyone Senders = "anyone" // anyone who can reach the bot; all but the owner stay tool-free
)

// ComponentHealth is the health of one channel account.
type ComponentHealth struct {
	ID                     string         `json:"id"` // <channel>:<account>
	Channel                string         `json:"channel"`
	Account                string         `json:"account"`
	BotID                  *string        `json:"bot_id"`
	UserID                 *string        `json:"user_id"` // the owner's id on the platform
	Enabled                bool           `json:"enabled"`
	State                  ComponentState `json:"state"`
	LastSuccessUnixSeconds *uint64        `json:"last_success_unix_seconds"`
	Error                  *string        `json:"error"`
	Restarts               uint64         `json:"restarts"`
	RemoteTools            RemoteTools    `json:"remote_tools"` // effective: owner only when the owner's id is known
	Senders                *Senders       `json:"senders,omitzero"`
}

var (
	readComponentState = oneOf(Disabled, Starting, Connected, Disconnected, Backoff, Stopping, Stopped, Failed)
	readRemoteTools    = oneOf(ToolsNone, ToolsOwner)
	readSenders        = oneOf(SendersOwner, SendersAnyone)
)

func (h *ComponentHealth) fields() []field {
	return []field{
		required("id", &h.ID, readText),
		defaulted("channel", &h.Channel, "", readText),
		required("account", &h.Account, readText),
		optional("bot_id", &h.BotID, readText),
		optional("user_id", &h.UserID, readText),
		required("enabled", &h.Enabled, readBool),
		required("state", &h.State, readComponentState),
		optional("last_success_unix_seconds", &h.LastSuccessUnixSeconds, readUint64),
		optional("error", &h.Error, readText),
		required("restarts", &h.Restarts, readUint64),
		defaulted("remote_tools", &h.RemoteTools, ToolsNone, readRemoteTools),
		optional("senders", &h.Senders, readSenders),
	}
}
