package store

import (
	"time"

	"scv/internal/clock"
)

// Writer says which kind of transaction may write a bucket.
type Writer string

const (
	ByStore       Writer = "store"       // only this package: creation, migration, quarantine
	ByIntent      Writer = "Intent"      // what the owner wants
	ByDelivery    Writer = "Delivery"    // messages on their way
	ByObservation Writer = "Observation" // what was seen of the world
	ByAny         Writer = "any"         // every kind
)

// Table describes one bucket of the store. The tables below are the whole tree.
type Table struct {
	Name   string
	Key    string   // in words
	Writer Writer   // who may write it
	Doors  []string // the methods that write it
	Secret []string // members that a dump shows as length and hash; list/member is one of each object in a list
	Keep   string   // its retention rule in words; Sweep applies it

	form keyForm
	read func(t *Table, key, raw []byte) (any, error) // decodes and judges one record
	// judge says what is wrong with a record that decodes. Nil: nothing.
	judge func(key string, rec any) error
	past  func(rec any, rank int, now clock.Stamp) bool
	// past reports whether a record is over its time; rank is how many of its group (its account, or
	// the bucket) that the rule speaks of are newer. Nil: its own life ends it.
	counts func(rec any) bool // which records past speaks of; nil: all
}

// How long things are kept.
const (
	keepJournal      = 20_000               // entries
	keepReceipts     = 365 * 24 * time.Hour // of answered questions, however many
	keepSeen         = 8192                 // message ids of an account
	keepEnded        = 24 * time.Hour       // of ended questions
	keepReports      = 24 * time.Hour       // of ended background delegations
	keepRestarts     = 30 * 24 * time.Hour  // outcomes
	keepChatLines    = 1000                 // of an account
	keepChat         = 30 * 24 * time.Hour
	keepHeld         = 128 // messages of an account
	keepHeldFor      = 7 * 24 * time.Hour
	keepConversation = 90 * 24 * time.Hour // unused
	keepQuarantine   = 100                 // records
)

// KindAnswered is the journal kind of an owner's answer: such an entry is a receipt and is kept longer.
const KindAnswered = "confirm_answered"

var (
	tableMeta = &Table{
		Name: "meta", Key: `"schema", "about"`, Writer: ByStore,
		Keep: "for ever", form: keyText, read: readMeta,
	}
	tableAccounts = &Table{
		Name: "accounts", Key: "component id", Writer: ByIntent,
		Doors: []string{"PutAccount", "DeleteAccount"},
		Keep:  "until its log-out", form: keyText, read: readRecord[Account], judge: judging(checkAccountRecord),
	}
	tableClaims = &Table{
		Name: "claims", Key: "<account>/<seq>", Writer: ByDelivery,
		Doors:  []string{"PutClaim", "UpdateClaim", "DeleteClaim", "ForgetAccount"},
		Secret: []string{"text", "root", "reply_handle", "files/name", "files/ref"},
		Keep:   "until answered; the inbox bounds them", form: keyAccountSeq, read: readRecord[Claim],
	}
	tableOutbox = &Table{
		Name: "outbox", Key: "<account>/<seq>", Writer: ByDelivery,
		Doors:  []string{"AddOutbound", "UpdateOutbound", "DeleteOutbound", "ForgetAccount"},
		Secret: []string{"text", "reply_handle", "files/name"},
		Keep:   "until delivered; held ones the newest 128 of an account and 7 days",
		form:   keyAccountSeq, read: readRecord[Outbound],
		counts: func(rec any) bool { return rec.(Outbound).Held },
		past: func(rec any, rank int, now clock.Stamp) bool {
			return rank >= keepHeld || now.Since(rec.(Outbound).Queued) > keepHeldFor
		},
	}
	tableSeen = &Table{
		Name: "seen", Key: "<account>/<message id>", Writer: ByDelivery,
		Doors: []string{"MarkSeen", "MarkOwnerSeen", "ForgetAccount"},
		Keep:  "the newest 8192 of an account by sighting", form: keyAccountText, read: readRecord[Seen],
	}
	tableCursors = &Table{
		Name: "cursors", Key: "<account>/<name>", Writer: ByDelivery,
		Doors:  []string{"PutCursor", "MarkOutage", "DeleteOutage", "ForgetAccount"},
		Secret: []string{"value"},
		Keep:   "two records of an account at most, rewritten", form: keyAccountText, read: readRecord[Cursor],
	}
	tableConversations = &Table{
		Name: "conversations", Key: "<account>/<conversation>", Writer: ByDelivery,
		Doors: []string{"PutConversation", "DeleteConversation", "ForgetAccount"},
		Keep:  "90 days after its last use", form: keyAccountText, read: readRecord[Conversation],
		past: func(rec any, _ int, now clock.Stamp) bool {
			return now.Since(rec.(Conversation).LastUse) > keepConversation
		},
	}
	tableChat = &Table{
		Name: "chat", Key: "<account>/<seq>", Writer: ByDelivery,
		Doors:  []string{"AddChatLine", "ForgetAccount"},
		Secret: []string{"text"},
		Keep:   "the newest 1000 of an account and 30 days", form: keyAccountSeq, read: readRecord[ChatLine],
		past: func(rec any, rank int, now clock.Stamp) bool {
			return rank >= keepChatLines || now.Wall.Sub(rec.(ChatLine).At) > keepChat
		},
	}
	tableDelegations = &Table{
		Name: "delegations", Key: "handle", Writer: ByObservation,
		Doors: []string{"PutDelegation", "DeleteDelegation"},
		Keep:  "until its end is reported", form: keyText, read: readRecord[Delegation], judge: judging(checkDelegationRecord),
	}
	tableReports = &Table{
		Name: "reports", Key: "handle", Writer: ByDelivery, Doors: []string{"PutReport"},
		Secret: []string{"text"},
		Keep:   "24 hours after its end", form: keyText, read: readRecord[RunReport], judge: judging(checkReport),
		past: func(rec any, _ int, now clock.Stamp) bool { return now.Since(rec.(RunReport).Ended) > keepReports },
	}
	tableRestart = &Table{
		Name: "restart", Key: `"plan" or restart id`, Writer: ByAny, Doors: []string{"PutRestartPlan", "EndRestart"},
		Keep: "the plan until its end; outcomes 30 days", form: keyText, read: readRecord[Restart], judge: judging(checkRestart),
		counts: func(rec any) bool { return rec.(Restart).Step == RestartDone },
		past:   func(rec any, _ int, now clock.Stamp) bool { return now.Since(rec.(Restart).Ended) > keepRestarts },
	}
	tableConfirms = &Table{
		Name: "confirms", Key: "question id", Writer: ByAny, Doors: []string{"PutConfirm"},
		Keep: "while open: at most its timeout", form: keyText, read: readRecord[Confirm], judge: judging(checkOpenConfirm),
	}
	tableConfirmsEnded = &Table{
		Name: "confirms_ended", Key: "question id", Writer: ByAny, Doors: []string{"PutConfirm"},
		Keep: "24 hours after its end", form: keyText, read: readRecord[Confirm], judge: judging(checkEndedConfirm),
		past: func(rec any, _ int, now clock.Stamp) bool { return now.Since(rec.(Confirm).Ended) > keepEnded },
	}
	tableJournal = &Table{
		Name: "journal", Key: "<seq>", Writer: ByAny, Doors: []string{"AddJournal"},
		Keep: "the newest 20000; receipts also 1 year", form: keySeq, read: readRecord[JournalEntry],
		past: func(rec any, rank int, now clock.Stamp) bool {
			entry := rec.(JournalEntry)
			return rank >= keepJournal && (entry.Kind != KindAnswered || now.Since(entry.At) > keepReceipts)
		},
	}
	tableLastOwner = &Table{
		Name: "last_owner", Key: `"last"`, Writer: ByAny, Doors: []string{"PutLastOwner"},
		Keep: "one record, rewritten", form: keyText, read: readRecord[LastOwner],
	}
	tableQuarantine = &Table{
		Name: "quarantine", Key: "<bucket>/<key>", Writer: ByIntent, Doors: []string{"DropQuarantined"},
		Secret: []string{"value"},
		Keep:   "the newest 100", form: keyText, read: readRecord[Quarantined],
	}
)

// Schema is the bucket tree, in the order of a dump.
var Schema = []*Table{
	tableMeta, tableAccounts,
	tableClaims, tableOutbox, tableSeen, tableCursors, tableConversations, tableChat,
	tableDelegations, tableReports, tableRestart,
	tableConfirms, tableConfirmsEnded,
	tableJournal, tableLastOwner, tableQuarantine,
}
