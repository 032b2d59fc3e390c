package wire

// ChatSend is the request of daemon.chat.send: one message of the owner to the local chat.
type ChatSend struct {
	Account  string `json:"account"`  // of the local channel, such as "default"
	ID       string `json:"id"`       // chosen by the sender, 1..64 of [A-Za-z0-9_-]; a repeat is one message
	Text     string `json:"text"`     // 1 byte..64 KiB
	Terminal bool   `json:"terminal"` // a person types at a terminal
}

// ChatSent is the reply of daemon.chat.send, sent once the message is durable.
type ChatSent struct {
	ID        string `json:"id"`
	Seq       uint64 `json:"seq"`       // of the message's line in the chat
	Duplicate bool   `json:"duplicate"` // the id was known already; nothing was done again
}

// ChatAttach is the request of daemon.chat.attach: what the local chat showed since AfterSeq.
type ChatAttach struct {
	Account  string  `json:"account"`
	AfterSeq *uint64 `json:"after_seq,omitzero"` // nil: no backlog, only the newest number
	Terminal bool    `json:"terminal"`
}

// ChatAttached is the reply of daemon.chat.attach.
type ChatAttached struct {
	NewestSeq uint64          `json:"newest_seq"`
	Lines     []ChatLine      `json:"lines"`     // oldest first; the newest MaxChatBacklog at most
	Questions []ConfirmDetail `json:"questions"` // open ones
}

// ChatLineKind is what a line of the local chat is.
type ChatLineKind string

const (
	ChatOwner    ChatLineKind = "owner"    // the owner's own message
	ChatReply    ChatLineKind = "reply"    // an agent's answer
	ChatFailure  ChatLineKind = "failure"  // why there is no answer
	ChatNotice   ChatLineKind = "notice"   // the program's own words
	ChatQuestion ChatLineKind = "question" // a question of scv confirm
	ChatProgress ChatLineKind = "progress" // what an agent does, before its answer
)

// ChatLine is one line of the local chat, and the payload of daemon.event.chat.<account>.
type ChatLine struct {
	Seq          uint64       `json:"seq"`
	Kind         ChatLineKind `json:"kind"`
	Text         string       `json:"text"`
	MessageID    *string      `json:"message_id,omitzero"`  // of an owner's line
	InReplyTo    *string      `json:"in_reply_to,omitzero"` // the owner's message id this line answers, last
	AtUnixMillis uint64       `json:"at_unix_ms"`
}

var readChatLineKind = oneOf(ChatOwner, ChatReply, ChatFailure, ChatNotice, ChatQuestion, ChatProgress)

func (c *ChatSend) fields() []field {
	return []field{
		required("account", &c.Account, readText),
		required("id", &c.ID, readText),
		required("text", &c.Text, readText),
		defaulted("terminal", &c.Terminal, false, readBool),
	}
}

func (c *ChatSent) fields() []field {
	return []field{
		required("id", &c.ID, readText),
		required("seq", &c.Seq, readUint64),
		required("duplicate", &c.Duplicate, readBool),
	}
}

func (c *ChatAttach) fields() []field {
	return []field{
		required("account", &c.Account, readText),
		optional("after_seq", &c.AfterSeq, readUint64),
		defaulted("terminal", &c.Terminal, false, readBool),
	}
}

func (c *ChatAttached) fields() []field {
	return []field{
		required("newest_seq", &c.NewestSeq, readUint64),
		required("lines", &c.Lines, listOf(readObject[ChatLine])),
		required("questions", &c.Questions, listOf(readObject[ConfirmDetail])),
	}
}

func (l *ChatLine) fields() []field {
	return []field{
		required("seq", &l.Seq, readUint64),
		required("kind", &l.Kind, readChatLineKind),
		required("text", &l.Text, readText),
		optional("message_id", &l.MessageID, readText),
		optional("in_reply_to", &l.InReplyTo, readText),
		required("at_unix_ms", &l.AtUnixMillis, readUint64),
	}
}
