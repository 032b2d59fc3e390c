package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"scv/daemon/channel"
	"scv/daemon/chatcommand"
	"scv/internal/clock"
	"scv/store"
	"scv/store/storetest"
	"scv/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const account = "local:default"

// world is an inbox over a store, with the rules of others played by the test.
type world struct {
	t     *testing.T
	path  string
	clk   *clock.Virtual
	store *store.Store
	inbox *Inbox

	answers  bool   // whether a question takes the owner's message
	fail     error  // what Recorded answers
	failAt   string // to this message only; "" is to all
	answered []string
	commands []chatcommand.Command
	recorded []string
	woken    int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, path: filepath.Join(t.TempDir(), "scv.db"), clk: clock.NewVirtual()}
	w.open()
	w.set(store.Account{Enabled: true, RemoteTools: wire.ToolsOwner, Senders: wire.SendersOwner, OwnerID: "owner"})
	return w
}

// open opens the store, afresh where it was open.
func (w *world) open() {
	w.t.Helper()
	if w.store != nil {
		w.must(w.store.Close())
	}
	w.store = storetest.OpenAt(w.t, w.path, w.clk)
	w.inbox = New(Options{
		Store: w.store, Clock: w.clk, Log: slog.New(slog.DiscardHandler),
		Answer: func(_ *store.Delivery, _ string, m channel.Message) (bool, error) {
			w.answered = append(w.answered, m.ID)
			return w.answers, nil
		},
		Command: func(_ *store.Delivery, _ string, _ channel.Message, c chatcommand.Command) (string, error) {
			w.commands = append(w.commands, c)
			return "answer to " + string(c), nil
		},
		Recorded: func(_ *store.Delivery, _ string, m channel.Message) error {
			w.recorded = append(w.recorded, m.ID)
			if w.failAt == "" || w.failAt == m.ID {
				return w.fail
			}
			return nil
		},
		Wake: func() { w.woken++ },
	})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) set(a store.Account) {
	w.t.Helper()
	w.must(w.store.Intend(context.Background(), func(tx *store.Intent) error { return tx.PutAccount(account, a) }))
}

func (w *world) receive(batch ...channel.Message) {
	w.t.Helper()
	w.must(w.inbox.Receive(context.Background(), account, batch))
}

func (w *world) claims() (claims []store.Claim) {
	w.t.Helper()
	w.must(w.store.View(func(v *store.View) error {
		for _, row := range v.Claims(account) {
			claims = append(claims, row.Claim)
		}
		return nil
	}))
	return claims
}

func (w *world) replies() (replies []store.Outbound) {
	w.t.Helper()
	w.must(w.store.View(func(v *store.View) error {
		for _, row := range v.Outbox(account, 1000) {
			replies = append(replies, row.Outbound)
		}
		return nil
	}))
	return replies
}

func from(sender, id string) channel.Message {
	return channel.Message{ID: id, Chat: sender, Sender: sender, Direct: true, Text: "text of " + id}
}

func TestClaim(t *testing.T) {
	w := newWorld(t)
	m := from("owner", "m1")
	m.Text, m.ReplyHandle = " \n hello \t", "token"
	w.receive(m)
	want := store.Claim{
		MessageID: "m1", Conversation: "owner", Chat: "owner", Sender: "owner", Owner: true, Text: "hello", ReplyHandle: "token",
	}
	claims := w.claims()
	if len(claims) != 1 || claims[0].Claimed.Zero() {
		t.Fatalf("claims %+v", claims)
	}
	claims[0].Claimed = clock.Stamp{}
	if !reflect.DeepEqual(claims[0], want) || w.woken != 1 || len(w.replies()) != 0 {
		t.Errorf("claim %+v, woken %d, replies %+v", claims[0], w.woken, w.replies())
	}
}

// The same message comes again and again, in one batch, in others and after a restart.
func TestRedelivery(t *testing.T) {
	w := newWorld(t)
	for range 20 {
		w.receive(from("owner", "m1"), from("owner", "m1"))
	}
	w.open()
	w.receive(from("owner", "m1"), from("owner", "m2"))
	if claims := w.claims(); len(claims) != 2 || claims[0].MessageID != "m1" || claims[1].MessageID != "m2" {
		t.Errorf("claims %+v", claims)
	}
	if !slices.Equal(w.recorded, []string{"m1", "m2"}) || !slices.Equal(w.answered, []string{"m1", "m2"}) {
		t.Errorf("recorded %v, offered to questions %v", w.recorded, w.answered)
	}
}

// Who is answered, and as whom.
func TestSenders(t *testing.T) {
	group := func(m channel.Message) channel.Message { m.Chat, m.Direct = "group", false; return m }
	tests := []struct {
		name    string
		senders wire.Senders
		owner   string // as the account knows it
		m       channel.Message
		claimed bool
		asOwner bool
	}{
		{"owner", wire.SendersOwner, "owner", from("owner", "m"), true, true},
		{"owner in a group", wire.SendersOwner, "owner", group(from("owner", "m")), true, false},
		{"stranger", wire.SendersOwner, "owner", from("stranger", "m"), false, false},
		{"stranger in a group", wire.SendersOwner, "owner", group(from("stranger", "m")), false, false},
		{"nobody knows the owner", wire.SendersOwner, "", from("owner", "m"), false, false},
		{"nobody knows the owner, nor the sender", wire.SendersOwner, "", from("", "m"), false, false},
		{"anyone: owner", wire.SendersAnyone, "owner", from("owner", "m"), true, true},
		{"anyone: owner in a group", wire.SendersAnyone, "owner", group(from("owner", "m")), true, false},
		{"anyone: stranger", wire.SendersAnyone, "owner", from("stranger", "m"), true, false},
		{"anyone: stranger in a group", wire.SendersAnyone, "owner", group(from("stranger", "m")), true, false},
		{"anyone: nobody knows the owner", wire.SendersAnyone, "", from("owner", "m"), true, false},
		{"anyone: nobody knows the owner, nor the sender", wire.SendersAnyone, "", from("", "m"), true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.set(store.Account{Enabled: true, RemoteTools: wire.ToolsOwner, Senders: test.senders, OwnerID: test.owner})
			w.receive(test.m)
			claims := w.claims()
			if test.claimed != (len(claims) == 1) || test.claimed && claims[0].Owner != test.asOwner {
				t.Errorf("claims %+v", claims)
			}
			if test.claimed != (len(w.recorded) == 1) || test.asOwner != (len(w.answered) == 1) {
				t.Errorf("recorded %v, offered to questions %v", w.recorded, w.answered)
			}
			if replies := w.replies(); len(replies) != 0 {
				t.Errorf("replies %+v", replies)
			}
		})
	}
}

// Members of a group share no conversation, and none with their direct chats.
func TestConversations(t *testing.T) {
	keys := map[string]bool{}
	for _, m := range []channel.Message{
		{Chat: "g", Sender: "a"},
		{Chat: "g", Sender: "b"},
		{Chat: "h", Sender: "a"},
		{Chat: "a", Sender: "a", Direct: true},
		{Chat: "b", Sender: "b", Direct: true},
	} {
		keys[Conversation(m)] = true
	}
	if len(keys) != 5 {
		t.Errorf("%v", keys)
	}
}

// What answers a question becomes no turn, and is not offered again.
func TestAnswerBecomesNoTurn(t *testing.T) {
	w := newWorld(t)
	w.answers = true
	w.receive(from("owner", "yes"))
	w.open()
	w.answers = false
	w.receive(from("owner", "yes"))
	if claims := w.claims(); len(claims) != 0 || !slices.Equal(w.answered, []string{"yes"}) {
		t.Errorf("claims %+v, offered %v", claims, w.answered)
	}
}

// What cannot be claimed gets one short answer that is not worth holding.
func TestNotClaimed(t *testing.T) {
	voice, image := channel.File{Kind: channel.Voice}, channel.File{Kind: channel.Image}
	tests := []struct {
		name  string
		text  string
		files []channel.File
		says  string // "" is a claim
	}{
		{"empty", "", nil, "no text"},
		{"blank", " \n\t ", nil, "no text"},
		{"a file alone", "", []channel.File{image}, ""},
		{"a file with words", "look", []channel.File{image}, ""},
		{"voice alone", " ", []channel.File{voice}, "type"},
		{"much voice", "", []channel.File{voice, voice}, "type"},
		{"voice with words", "listen", []channel.File{voice}, ""},
		{"voice with a file", "", []channel.File{voice, image}, ""},
		{"longest", strings.Repeat("x", maxText), nil, ""},
		{"too long", strings.Repeat("x", maxText+1), nil, "too long"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			m := from("owner", strings.Repeat("i", maxMessageID))
			m.Text, m.Files, m.ReplyHandle = test.text, test.files, "token"
			w.receive(m, m)
			if replies := w.replies(); test.says == "" {
				if len(replies) != 0 || len(w.claims()) != 1 {
					t.Errorf("replies %d, claims %d", len(replies), len(w.claims()))
				}
			} else if len(replies) != 1 || len(w.claims()) != 0 || !strings.Contains(replies[0].Text, test.says) {
				t.Errorf("replies %+v, claims %d", replies, len(w.claims()))
			} else {
				checkRefusal(t, replies[0], m)
			}
		})
	}
}

func checkRefusal(t *testing.T, o store.Outbound, m channel.Message) {
	t.Helper()
	if !o.Transient || o.Kind != string(channel.Failure) || o.InReplyTo != m.ID || o.ReplyHandle != m.ReplyHandle ||
		o.Chat != m.Chat || o.Conversation != Conversation(m) || o.Queued.Zero() || o.ClientID == "" || len(o.ClientID) > 48 {
		t.Errorf("refusal %+v", o)
	}
}

// Limits at -1, 0 and +1: in one conversation, and in an account.
func TestLimits(t *testing.T) {
	w := newWorld(t)
	w.set(store.Account{Enabled: true, RemoteTools: wire.ToolsOwner, Senders: wire.SendersAnyone, OwnerID: "owner"})
	for n := 1; n <= MaxPerConversation+1; n++ {
		w.receive(from("owner", fmt.Sprint("m", n)))
		if claims := len(w.claims()); claims != min(n, MaxPerConversation) {
			t.Fatalf("%d claims of %d messages", claims, n)
		}
	}
	for n := 1; n <= MaxPerAccount-MaxPerConversation+1; n++ {
		w.receive(from(fmt.Sprint("guest", n), fmt.Sprint("g", n)))
		if claims := len(w.claims()); claims != min(MaxPerConversation+n, MaxPerAccount) {
			t.Fatalf("%d claims with %d guests", claims, n)
		}
	}
	replies := w.replies()
	if len(replies) != 2 || !strings.Contains(replies[0].Text, "8 here") || !strings.Contains(replies[1].Text, "64 in all") {
		t.Fatalf("replies %+v", replies)
	}
	checkRefusal(t, replies[0], from("owner", fmt.Sprint("m", MaxPerConversation+1)))
}

// A whole batch over several transactions keeps its order.
func TestLongBatch(t *testing.T) {
	w := newWorld(t)
	var batch []channel.Message
	for n := range 2*chunk + 1 {
		batch = append(batch, from("owner", fmt.Sprint("m", n)))
	}
	w.receive(batch...)
	if claims := w.claims(); len(claims) != MaxPerConversation || claims[7].MessageID != "m7" {
		t.Errorf("claims %+v", claims)
	}
	if replies := w.replies(); len(replies) != 2*chunk+1-MaxPerConversation || replies[0].InReplyTo != "m8" {
		t.Errorf("%d replies", len(replies))
	}
}

// A long batch fails in its second half and comes again as a whole.
func TestLongBatchFailsHalfway(t *testing.T) {
	w := newWorld(t)
	w.answers = true // so that no limit is met
	var batch []channel.Message
	for n := range 2 * chunk {
		batch = append(batch, from("owner", fmt.Sprint("m", n)))
	}
	w.fail, w.failAt = errors.New("the disk is full"), fmt.Sprint("m", chunk+chunk/2)
	if err := w.inbox.Receive(context.Background(), account, batch); !errors.Is(err, w.fail) {
		t.Fatalf("error %v", err)
	}
	w.fail, w.answered = nil, nil
	w.receive(batch...)
	if len(w.answered) != chunk || w.answered[0] != fmt.Sprint("m", chunk) {
		t.Errorf("%d messages were new the second time: %v", len(w.answered), w.answered)
	}
}

// A batch that fails comes again: what was taken before is not taken twice, what was not is not lost.
func TestFailingBatchComesAgain(t *testing.T) {
	w := newWorld(t)
	w.fail = errors.New("the disk is full")
	if err := w.inbox.Receive(context.Background(), account, []channel.Message{from("owner", "m1"), from("owner", "m2")}); !errors.Is(err, w.fail) {
		t.Fatalf("error %v", err)
	}
	if len(w.claims()) != 0 {
		t.Fatal("claimed in spite of the failure")
	}
	w.fail = nil
	w.must(w.store.Close())
	if err := w.inbox.Receive(context.Background(), account, []channel.Message{from("owner", "m1")}); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("error %v", err)
	}
	w.store = nil
	w.open()
	w.receive(from("owner", "m1"), from("owner", "m2"))
	if claims := w.claims(); len(claims) != 2 || claims[0].MessageID != "m1" {
		t.Errorf("claims %+v", claims)
	}
}

// An account that is leaving, or not known, takes nothing.
func TestNoAccount(t *testing.T) {
	w := newWorld(t)
	w.set(store.Account{RemoteTools: wire.ToolsNone, Senders: wire.SendersOwner, OwnerID: "owner", LoggingOut: true})
	if err := w.inbox.Receive(context.Background(), account, []channel.Message{from("owner", "m1")}); err == nil {
		t.Error("taken for an account that is logging out")
	}
	if err := w.inbox.Receive(context.Background(), "local:other", []channel.Message{from("owner", "m1")}); err == nil {
		t.Error("taken for an account that is not known")
	}
	if len(w.claims()) != 0 || len(w.recorded) != 0 {
		t.Errorf("claims %v, recorded %v", w.claims(), w.recorded)
	}
}

// One message that cannot be kept as it is must not hold up those behind it for ever.
func TestOddMessages(t *testing.T) {
	w := newWorld(t)
	odd := from("owner", "m1")
	odd.Text, odd.ReplyHandle, odd.Quotes = "a\xff\x00b", "\xfe", "\xfd"
	w.receive(
		from("owner", ""), from("owner", strings.Repeat("i", maxMessageID+1)), from("owner", "\xff"),
		odd, from("owner", "m2"))
	claims := w.claims()
	if len(claims) != 2 || claims[0].Text != "a\uFFFD\x00b" || claims[1].MessageID != "m2" {
		t.Errorf("claims %+v", claims)
	}
}
