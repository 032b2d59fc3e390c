package wire

// How long a question waits, in seconds (the seed's constants).
const (
	DefaultConfirmSeconds = 30 * 60
	MaxConfirmSeconds     = 4 * 60 * 60
)

// ConfirmState is where a question to the owner stands. All but pending and unknown are final.
type ConfirmState string

const (
	Pending   ConfirmState = "pending"
	Yes       ConfirmState = "yes"
	No        ConfirmState = "no"
	Expired   ConfirmState = "expired"   // no answer before the deadline, which counts as no
	Withdrawn ConfirmState = "withdrawn" // the asker stopped asking
	NotAsked  ConfirmState = "failed"    // it could not be handed to the chat, or its answer was lost
	Unknown   ConfirmState = "unknown"   // a state of a newer daemon
)

// Final reports whether the state never changes again.
func (s ConfirmState) Final() bool { return s != Pending && s != Unknown }

// ConfirmInfo is a yes/no question to the owner in chat.
type ConfirmInfo struct {
	ID                  string       `json:"id"` // 12 lowercase hex digits
	State               ConfirmState `json:"state"`
	Chat                string       `json:"chat"` // <channel>:<account> whose owner was asked
	DeadlineUnixSeconds uint64       `json:"deadline_unix_seconds"`
}

// ConfirmReceipt says how a question was answered.
type ConfirmReceipt struct {
	Sender         string `json:"sender"`          // the platform's id of who answered
	Chat           string `json:"chat"`            // <channel>:<account>
	MessageID      string `json:"message_id"`      // the platform's id of the answering message
	AtUnixMillis   uint64 `json:"at_unix_ms"`      // the platform's send time
	Word           string `json:"word"`            // the accepted word, as matched
	QuestionSHA256 string `json:"question_sha256"` // hex, of the exact text shown
}

// ConfirmDetail is a question with all that may be told of it.
type ConfirmDetail struct {
	Confirm          ConfirmInfo     `json:"confirm"`
	Code             string          `json:"code"`           // short code, unique in its chat for 24 h
	Question         string          `json:"question"`       // exactly as shown
	Asker            *string         `json:"asker,omitzero"` // handle of the delegated run that asked
	AskedUnixSeconds uint64          `json:"asked_unix_seconds"`
	OpenedUnixMillis *uint64         `json:"opened_unix_ms,omitzero"` // when the platform accepted it
	EndedUnixSeconds *uint64         `json:"ended_unix_seconds,omitzero"`
	Receipt          *ConfirmReceipt `json:"receipt,omitzero"`
}

// ConfirmID is the request of daemon.confirm.withdraw and daemon.confirm.show.
type ConfirmID struct {
	ID string `json:"id"`
}

// ConfirmListRequest is the request of daemon.confirm.list.
type ConfirmListRequest struct {
	All bool `json:"all"` // also those that ended within 24 h
}

// ConfirmList is the reply of daemon.confirm.list, oldest first.
type ConfirmList struct {
	Confirms []ConfirmDetail `json:"confirms"`
}

// readConfirmState takes a state of a newer daemon as unknown: it must not break a client that waits.
func readConfirmState(r *reader) (ConfirmState, error) {
	name, err := readText(r)
	switch state := ConfirmState(name); state {
	case Pending, Yes, No, Expired, Withdrawn, NotAsked:
		return state, err
	default:
		return Unknown, err
	}
}

func (i *ConfirmInfo) fields() []field {
	return []field{
		required("id", &i.ID, readText),
		required("state", &i.State, readConfirmState),
		required("chat", &i.Chat, readText),
		required("deadline_unix_seconds", &i.DeadlineUnixSeconds, readUint64),
	}
}

func (c *ConfirmReceipt) fields() []field {
	return []field{
		required("sender", &c.Sender, readText),
		required("chat", &c.Chat, readText),
		required("message_id", &c.MessageID, readText),
		required("at_unix_ms", &c.AtUnixMillis, readUint64),
		required("word", &c.Word, readText),
		required("question_sha256", &c.QuestionSHA256, readText),
	}
}

func (d *ConfirmDetail) fields() []field {
	return []field{
		required("confirm", &d.Confirm, readObject[ConfirmInfo]),
		required("code", &d.Code, readText),
		required("question", &d.Question, readText),
		optional("asker", &d.Asker, readText),
		required("asked_unix_seconds", &d.AskedUnixSeconds, readUint64),
		optional("opened_unix_ms", &d.OpenedUnixMillis, readUint64),
		optional("ended_unix_seconds", &d.EndedUnixSeconds, readUint64),
		optional("receipt", &d.Receipt, readObject[ConfirmReceipt]),
	}
}

func (c *ConfirmID) fields() []field {
	return []field{required("id", &c.ID, readText)}
}

func (c *ConfirmListRequest) fields() []field {
	return []field{defaulted("all", &c.All, false, readBool)}
}

func (c *ConfirmList) fields() []field {
	return []field{required("confirms", &c.Confirms, listOf(readObject[ConfirmDetail]))}
}
