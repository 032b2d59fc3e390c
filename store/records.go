package store

import (
	"time"

	"scv/internal/clock"
	"scv/wire"
)

// Account is the settings of one channel account. Key: component id, <channel>:<account>.
type Account struct {
	Enabled     bool             `json:"enabled"`
	Workspace   string           `json:"workspace,omitzero"` // absolute; "" is the configured default
	RemoteTools wire.RemoteTools `json:"remote_tools"`
	Senders     wire.Senders     `json:"senders"`
	Agent       string           `json:"agent,omitzero"`       // "" is the only one configured
	OwnerID     string           `json:"owner_id,omitzero"`    // as the platform or the socket verified it
	Binding     string           `json:"binding,omitzero"`     // identity of the credentials that all of its state belongs to
	LoggingOut  bool             `json:"logging_out,omitzero"` // a log-out began; asked again, or the next start, ends it
	Announce    string           `json:"announce,omitzero"`    // a change of authority the owner is yet to be told
}

// Claim is a message that will get exactly one answer. Key: <account>/<seq>.
type Claim struct {
	MessageID    string      `json:"message_id"`
	Conversation string      `json:"conversation"`
	Chat         string      `json:"chat"`
	Sender       string      `json:"sender"`
	Owner        bool        `json:"owner"` // verified owner in the direct chat
	Text         string      `json:"text"`  // secret: shown by dump only with --texts
	ReplyHandle  string      `json:"reply_handle,omitzero"`
	Claimed      clock.Stamp `json:"claimed"`
	Handle       string      `json:"handle,omitzero"`  // of the run; set when the turn begins, before the spawn
	Job          *Job        `json:"job,omitempty"`    // of a claim that no message made: a background delegation
	Files        []File      `json:"files,omitempty"`  // what came with the message; the inbox bounds them
	Root         string      `json:"root,omitzero"`    // secret, as Text: what its thread began with, for an agent that does not know it
	Command      string      `json:"command,omitzero"` // a chatcommand.Command that takes its turn: no agent hears of it
	Stop         bool        `json:"stop,omitzero"`    // its owner does not want an answer any more
}

// File is what came with a message. It is fetched by the turn that answers, if anybody can read it then.
type File struct {
	Kind string `json:"kind"`          // a channel.FileKind
	Name string `json:"name,omitzero"` // secret, as Claim.Text; as the sender called it
	Size int64  `json:"size,omitzero"` // bytes as the platform says, 0 where it does not
	Ref  string `json:"ref,omitzero"`  // secret: where the adapter finds it, perhaps with a key to it
}

// Job is a delegation that is to run in the background. Its claim's text is the task, and the chat that the
// claim names hears the report.
type Job struct {
	Handle  string        `json:"handle"` // as promised to who asked
	Agent   string        `json:"agent"`
	Cwd     string        `json:"cwd"`
	Tools   bool          `json:"tools,omitzero"`
	Parent  string        `json:"parent,omitzero"` // tag of the run that asked, "" for the owner at a terminal
	Depth   uint32        `json:"depth"`           // of the new run
	Memory  string        `json:"memory,omitzero"` // key of the conversation it goes on with, "" for none
	Timeout time.Duration `json:"timeout"`         // nanoseconds
}

// Outbound is a message that is to be delivered. Key: <account>/<seq>, delivered in that order.
type Outbound struct {
	Kind         string      `json:"kind"` // a channel.Kind
	Chat         string      `json:"chat"`
	Conversation string      `json:"conversation,omitzero"`
	InReplyTo    string      `json:"in_reply_to,omitzero"` // message id it answers
	ReplyHandle  string      `json:"reply_handle,omitzero"`
	Text         string      `json:"text"`               // secret, as Claim.Text; only with files it may be ""
	Files        []Upload    `json:"files,omitempty"`    // parts after those of the text, one each
	ClientID     string      `json:"client_id"`          // part n is sent as <client_id>-<n>
	NextPart     int         `json:"next_part"`          // parts before it were accepted
	Question     string      `json:"question,omitzero"`  // id of the question this is the text of
	Transient    bool        `json:"transient,omitzero"` // never held when refused
	Held         bool        `json:"held,omitzero"`      // refused for good; kept to go along with a later reply
	Queued       clock.Stamp `json:"queued"`
}

// Upload is a file that goes with an answer. Our copy of it is number n, its place in the list, in the folder
// that daemon/media keeps for the answer's client id: a damaged record can name no other file.
type Upload struct {
	Kind string `json:"kind"` // a channel.FileKind
	Name string `json:"name"` // secret, as Outbound.Text; as the receiver sees it
	Size int64  `json:"size"` // bytes
}

// Seen marks a message id as handled. Key: <account>/<message id>.
type Seen struct {
	Order uint64 `json:"order"`          // of its latest sighting
	Owner bool   `json:"owner,omitzero"` // the account's owner wrote it: nobody else's can push it out
}

// Cursor is what an account has come to, in its receiving and in an outage. Key: <account>/<name>.
type Cursor struct {
	Value string `json:"value"` // secret: opaque, and with some platforms a key to what comes next
}

// Conversation ties a chat to the agent's own memory of it. Key: <account>/<conversation>.
type Conversation struct {
	Agent   string      `json:"agent"`
	Session string      `json:"session,omitzero"` // the agent's own session id
	Folder  string      `json:"folder,omitzero"`  // what the session belongs to, see daemon/turn; "": anything
	Turns   uint32      `json:"turns"`            // begun so far
	LastUse clock.Stamp `json:"last_use"`
}

// ChatLine is one line of a local chat, kept so that a terminal that attaches late misses nothing.
// Key: <account>/<seq>.
type ChatLine struct {
	Kind      wire.ChatLineKind `json:"kind"`
	Text      string            `json:"text"` // secret, as Claim.Text; shown for kind question
	MessageID string            `json:"message_id,omitzero"`
	InReplyTo string            `json:"in_reply_to,omitzero"`
	ClientID  string            `json:"client_id,omitzero"` // of the outgoing part, to drop a repeat
	At        time.Time         `json:"at"`
}

// DelegationState is how far a delegated run has come.
type DelegationState string

const (
	RunStarting DelegationState = "starting" // recorded, perhaps spawned
	RunLive     DelegationState = "live"     // its leader's identity is recorded
	RunEnded    DelegationState = "ended"    // its outcome is known and not yet reported
)

// ProcessID names one process for good: pids are reused, and start times repeat within a tick.
type ProcessID struct {
	PID    int    `json:"pid"`
	Start  uint64 `json:"start"` // field 22 of /proc/pid/stat, in clock ticks since boot
	Boot   string `json:"boot"`
	Serial uint64 `json:"serial,omitzero"` // inode of its pidfd, never used again within a boot; 0 where there is none
}

// Cgroup is the folder of a cgroup v2.
type Cgroup struct {
	Path  string `json:"path"`
	Inode uint64 `json:"inode,omitzero"` // 0 while its run is starting: it may not be there yet
}

// Delegation is one delegated agent run. Key: handle. It holds no environment and no text.
type Delegation struct {
	Agent        string          `json:"agent"`
	Session      string          `json:"session"`
	Account      string          `json:"account,omitzero"`      // component id that its conversation and its memory belong to
	Conversation string          `json:"conversation,omitzero"` // of that account, which it answers; "" where it answers no chat
	MessageID    string          `json:"message_id,omitzero"`   // it is the turn of
	Turn         uint32          `json:"turn,omitzero"`
	Depth        uint32          `json:"depth"`
	State        DelegationState `json:"state"`
	Leader       ProcessID       `json:"leader,omitzero"` // also the process group
	Owner        ProcessID       `json:"owner"`           // the SCV process that started it
	Cgroup       Cgroup          `json:"cgroup,omitzero"` // its own; zero where none could be made
	Cwd          string          `json:"cwd"`
	Started      clock.Stamp     `json:"started"`
	Ties         []ProcessID     `json:"ties,omitempty"`     // every other process once tied to it and not known gone
	ExitCode     int             `json:"exit_code,omitzero"` // of an ended run; -1 when a signal ended it
	Stopped      string          `json:"stopped,omitzero"`   // why SCV stopped it, "" when it ended by itself
	Told         bool            `json:"told,omitzero"`      // the owner was told once that it tried a forbidden door
	Parent       string          `json:"parent,omitzero"`    // tag of the run that asked for it, "" when none did
	Tools        bool            `json:"tools,omitzero"`     // it may use tools, and so may what it starts
	Background   bool            `json:"background,omitzero"`

	// Of a live agent.
	IdleSince      clock.Stamp `json:"idle_since,omitzero"`      // when its last turn ended, zero while it works
	BackgroundJobs uint32      `json:"background_jobs,omitzero"` // what a nested SCV says still runs for it
	Memory         string      `json:"memory,omitzero"`          // key of the agent's conversation, where that is not the chat's
}

// AnswersChat reports whether a chat asked for the run. One that scv delegate owns has an account, for its
// memory, and yet no chat.
func (d Delegation) AnswersChat() bool { return d.Account != "" && d.Conversation != "" }

// RunReport is how a delegation ended, for who waits for it. Key: handle.
type RunReport struct {
	Agent   string                 `json:"agent"`
	Parent  string                 `json:"parent,omitzero"` // tag of the run that asked for it
	Outcome wire.DelegationOutcome `json:"outcome"`         // a final one
	Text    string                 `json:"text"`            // secret: the answer, or why there is none
	Ended   clock.Stamp            `json:"ended"`
}

// RestartStep is how far a plan to restart has come. Steps only go forward.
type RestartStep string

const (
	RestartWaiting   RestartStep = "waiting"   // for owner work to end, or the deadline
	RestartSwitching RestartStep = "switching" // nothing is admitted any more; the new release takes over
	RestartProving   RestartStep = "proving"   // the new release runs and is not yet trusted
	RestartDone      RestartStep = "done"      // the outcome is known, and told or about to be
)

// Restart is a plan to restart into another release, and later its outcome. Key: "plan" while it is under
// way, then its id.
type Restart struct {
	ID          string        `json:"id"`
	Step        RestartStep   `json:"step"`
	Binary      string        `json:"binary"` // absolute path that is executed
	SHA256      string        `json:"sha256"` // hex, of what was installed there when the plan was accepted
	FromVersion string        `json:"from_version"`
	FromCommit  string        `json:"from_commit"`
	ToVersion   string        `json:"to_version"`
	ToCommit    string        `json:"to_commit,omitzero"`
	ToSchema    uint64        `json:"to_schema"`          // newest store schema of the new release
	Requester   string        `json:"requester,omitzero"` // handle of the outermost run that asked
	Account     string        `json:"account,omitzero"`   // component id of the chat that hears the outcome first
	Chat        string        `json:"chat,omitzero"`      // the owner's chat on it
	Asked       clock.Stamp   `json:"asked"`
	MaxWait     time.Duration `json:"max_wait"`         // nanoseconds from Asked to the deadline
	Cut         []string      `json:"cut,omitempty"`    // handles of the work that the restart cut
	Outcome     string        `json:"outcome,omitzero"` // the sentence that is told
	Updated     bool          `json:"updated,omitzero"` // the new release stays
	Told        bool          `json:"told,omitzero"`    // the sentence is on its way
	Ended       clock.Stamp   `json:"ended,omitzero"`
}

// Confirm is one question to the owner. Key: its id. The rules of daemon/confirm decide every change.
type Confirm struct {
	ID         string               `json:"id"`
	Code       string               `json:"code"`
	Account    string               `json:"account"`        // component id
	Chat       string               `json:"chat"`           // the owner's chat on it
	Owner      string               `json:"owner"`          // who may answer
	Question   string               `json:"question"`       // exactly as shown
	Asker      string               `json:"asker,omitzero"` // handle of the run that asked, or ""
	Timeout    time.Duration        `json:"timeout"`        // nanoseconds
	Asked      clock.Stamp          `json:"asked"`
	Elapsed    time.Duration        `json:"elapsed"`     // nanoseconds that had passed at Noted
	Noted      clock.Stamp          `json:"noted"`       // when the record was last written
	LastPolled clock.Stamp          `json:"last_polled"` // as last stored, at most 20 s behind
	State      wire.ConfirmState    `json:"state"`
	Attempted  bool                 `json:"attempted,omitzero"`  // a first delivery was begun
	Opened     time.Time            `json:"opened,omitzero"`     // zero until the platform accepted its text
	MessageID  string               `json:"message_id,omitzero"` // of its text on the platform
	Hinted     bool                 `json:"hinted,omitzero"`     // the one hint was given
	Ended      clock.Stamp          `json:"ended,omitzero"`
	Receipt    *wire.ConfirmReceipt `json:"receipt,omitzero"`
}

// JournalEntry is one line of the audit trail. Key: seq.
type JournalEntry struct {
	At     clock.Stamp `json:"at"`
	Kind   string      `json:"kind"`             // such as confirm_answered, settings_changed, run_killed, forbidden
	Who    string      `json:"who"`              // who did it: owner, daemon, peer, a handle
	What   string      `json:"what"`             // one line; never a message's text or a secret
	Detail any         `json:"detail,omitempty"` // a receipt
}

// Quarantined is a record that could not be read, kept as it was found. Key: <bucket>/<key>.
type Quarantined struct {
	Reason string      `json:"reason"`
	Value  []byte      `json:"value"` // the raw bytes, base64 in JSON; secret
	At     clock.Stamp `json:"at"`
}

// LastOwner remembers where an owner last wrote. Key: "last".
type LastOwner struct {
	Account  string      `json:"account"`
	Chat     string      `json:"chat"`
	Terminal bool        `json:"terminal"` // local: a person typed at a terminal
	At       clock.Stamp `json:"at"`
}
