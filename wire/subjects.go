package wire

// Subjects of requests. Every one has a row in daemon/routes.go.
const (
	SubjectControl         = "daemon.control"
	SubjectAccountSet      = "daemon.account.set"
	SubjectConfirmWithdraw = "daemon.confirm.withdraw"
	SubjectConfirmShow     = "daemon.confirm.show"
	SubjectConfirmList     = "daemon.confirm.list"
	SubjectChatSend        = "daemon.chat.send"
	SubjectChatAttach      = "daemon.chat.attach"
	SubjectStoreSnapshot   = "daemon.store.snapshot"
	SubjectNotify          = "daemon.notify"
	SubjectRestartExplain  = "daemon.restart.explain"

	SubjectDelegationStart    = "daemon.delegation.start"
	SubjectDelegationRegister = "daemon.delegation.register"
	SubjectDelegationUpdate   = "daemon.delegation.update"
	SubjectDelegationWait     = "daemon.delegation.wait"
	SubjectDelegationExplain  = "daemon.delegation.explain"
)

// Subjects of events: daemon.event.<kind>.<id>.
const (
	EventConfirm = "daemon.event.confirm."    // + question id; payload ConfirmInfo
	EventChat    = "daemon.event.chat."       // + local account; payload ChatLine; never to a delegated run
	EventRun     = "daemon.event.delegation." // + handle; payload DelegationReport without its text
)

// Limits, in bytes unless said otherwise.
const (
	MaxRequest     = 1 << 20
	MaxReply       = 8 << 20
	MaxRefusal     = 1024     // of the sentence, whatever it quotes
	MaxQuestion    = 4096     // after trimming
	MaxChatText    = 64 << 10 // of one local message
	MaxChatBacklog = 200      // lines
	MaxNesting     = 127      // levels of JSON; the seed's parser refuses the 128th
)

// RequestSubjects lists every subject a client may send a request to. What is not here is refused by
// the transport, so a new subject needs a line here.
func RequestSubjects() []string {
	return []string{
		SubjectControl,
		SubjectAccountSet,
		SubjectConfirmWithdraw,
		SubjectConfirmShow,
		SubjectConfirmList,
		SubjectChatSend,
		SubjectChatAttach,
		SubjectStoreSnapshot,
		SubjectNotify,
		SubjectRestartExplain,
		SubjectDelegationStart,
		SubjectDelegationRegister,
		SubjectDelegationUpdate,
		SubjectDelegationWait,
		SubjectDelegationExplain,
	}
}
