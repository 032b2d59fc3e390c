package powercut

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

// The work: workers that write at the same time, each into records of its own, one transaction after the
// other. What a worker's nth transaction does hangs on the seed alone, so that parent and child need not
// tell each other.
const workers = 4

// change is one record as a transaction leaves it.
type change struct {
	noun, name string
	text       string // what it holds
	drop       bool   // it is removed
}

// transaction is what is written together.
type transaction struct {
	kind    string
	changes []change
}

// halves is a transaction made two of. The line of the journal is in the second.
func (x transaction) halves() []transaction {
	n := len(x.changes) / 2
	return []transaction{{x.kind, x.changes[:n]}, {x.kind, x.changes[n:]}}
}

// nouns says what each kind of transaction may write; a question and a line of the journal go with all.
var nouns = map[string][]string{
	"deliver": {"claim", "outbound", "seen", "conversation", "line"},
	"intend":  {"account"},
	"observe": {"run"},
}

// messageNouns are what a log-out forgets.
var messageNouns = nouns["deliver"]

func accountOf(worker int) string { return "power:w" + strconv.Itoa(worker) }

// plan is the nth transaction of a worker; the first has n = 1.
func plan(seed uint64, worker int, n uint64) transaction {
	dice := rand.New(rand.NewPCG(seed, uint64(worker)<<32|n))
	x := transaction{kind: []string{"deliver", "deliver", "intend", "observe"}[dice.IntN(4)]}
	if x.kind == "deliver" && dice.IntN(40) == 0 {
		x.changes = append(x.changes, change{noun: "forget"})
	}
	for i := range 1 + dice.IntN(5) {
		choice := nouns[x.kind]
		c := change{noun: choice[dice.IntN(len(choice))], name: string(rune('a' + dice.IntN(8))), text: letters(dice)}
		switch c.noun {
		case "line": // is only ever added
			c.name = fmt.Sprintf("%d-%d", n, i)
		case "seen":
			c.text = ""
		default:
			c.drop = dice.IntN(4) == 0
		}
		x.changes = append(x.changes, c)
	}
	// A question moves from one bucket to another when it is answered.
	question := rand.New(rand.NewPCG(seed, uint64(worker)<<32|n/8))
	switch c := (change{name: fmt.Sprintf("w%d-%d", worker, n/8), text: letters(question)}); n % 8 {
	case 1:
		c.noun = "question"
		x.changes = append(x.changes, c)
	case 5:
		c.noun = "answered"
		x.changes = append(x.changes, c)
	}
	x.changes = append(x.changes, change{noun: "journal", name: strconv.FormatUint(n, 10), text: x.kind})
	return x
}

// letters is a text that fits a page of the store, or now and then takes several.
func letters(dice *rand.Rand) string {
	most := 300
	if dice.IntN(8) == 0 {
		most = 12_000
	}
	b := make([]byte, 1+dice.IntN(most))
	for i := range b {
		b[i] = byte('a' + dice.IntN(26))
	}
	return string(b)
}

// ledger is what a worker's records hold: a digest by noun and name.
type ledger map[string]string

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%d bytes, %x", len(text), sum[:6])
}

func (l ledger) note(noun, name, text string) { l[noun+"/"+name] = digest(text) }

// apply is what a transaction does to a ledger.
func (l ledger) apply(x transaction) {
	for _, c := range x.changes {
		switch {
		case c.noun == "forget":
			maps.DeleteFunc(l, func(key, _ string) bool {
				noun, _, _ := strings.Cut(key, "/")
				return slices.Contains(messageNouns, noun)
			})
		case c.drop:
			delete(l, c.noun+"/"+c.name)
		default:
			if c.noun == "answered" {
				delete(l, "question/"+c.name)
			}
			l.note(c.noun, c.name, c.text)
		}
	}
}

// transactions is how many a ledger has seen: each left one line in the journal.
func (l ledger) transactions() (n uint64) {
	for key := range l {
		if strings.HasPrefix(key, "journal/") {
			n++
		}
	}
	return n
}

// read makes the ledger of a worker from its store.
func read(v *store.View, worker int) ledger {
	l, account := ledger{}, accountOf(worker)
	for _, r := range v.Claims(account) {
		l.note("claim", r.MessageID, r.Text)
	}
	for _, r := range v.Outbox(account, all) {
		l.note("outbound", r.ClientID, r.Text)
	}
	for name := range strings.SplitSeq("abcdefgh", "") {
		if v.SeenMessage(account, name) {
			l.note("seen", name, "")
		}
		if c, ok := v.Conversation(account, name); ok {
			l.note("conversation", name, c.Session)
		}
		if a, ok := v.Account(account + name); ok {
			l.note("account", name, a.Announce)
		}
		if d, ok := v.Delegation(account + name); ok {
			l.note("run", name, d.Cwd)
		}
	}
	for _, r := range v.ChatLines(account, 0, all) {
		l.note("line", r.ClientID, r.Text)
	}
	for _, c := range v.Confirms() {
		if c.Account == account {
			l.note(map[bool]string{true: "answered", false: "question"}[c.State.Final()], c.ID, c.Question)
		}
	}
	for _, e := range v.Journal(all) {
		if e.Who == account {
			l.note("journal", e.Kind, e.What)
		}
	}
	return l
}

const all = 1 << 30

// writeShared writes the changes that every kind of transaction may.
func writeShared(s *store.Shared, account string, c change, now clock.Stamp) error {
	switch c.noun {
	case "question", "answered":
		q := store.Confirm{ID: c.name, Account: account, Question: c.text, Asked: now, Noted: now, State: wire.Pending}
		if c.noun == "answered" {
			q.State, q.Ended = wire.Yes, now
		}
		return s.PutConfirm(q)
	case "journal":
		return s.AddJournal(c.name, account, c.text, nil)
	}
	return fmt.Errorf("nobody writes a %s", c.noun)
}
