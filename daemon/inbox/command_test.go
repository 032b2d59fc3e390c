package inbox

import (
	"slices"
	"testing"

	"scv/daemon/channel"
	"scv/daemon/chatcommand"
	"scv/store"
	"scv/wire"
)

// Only the owner's bare word in their direct chat, or in a thread of it, is a command; it comes before any
// question, and of everybody and everywhere else it is a message like any other.
func TestWhatIsACommand(t *testing.T) {
	with := func(change func(*channel.Message)) channel.Message {
		m := from("owner", "m1")
		m.Text = " /Stop\n"
		change(&m)
		return m
	}
	for name, test := range map[string]struct {
		m       channel.Message
		command bool
	}{
		"the owner":               {with(func(*channel.Message) {}), true},
		"the owner, in a thread":  {with(func(m *channel.Message) { m.Thread = "t" }), true},
		"the owner, in a group":   {with(func(m *channel.Message) { m.Chat, m.Direct = "group", false }), false},
		"a stranger":              {with(func(m *channel.Message) { m.Chat, m.Sender = "x", "x" }), false},
		"with a quote":            {with(func(m *channel.Message) { m.Quotes = "m0" }), false},
		"with quoted words":       {with(func(m *channel.Message) { m.Quoted = "hello" }), false},
		"with a file":             {with(func(m *channel.Message) { m.Files = make([]channel.File, 1) }), false},
		"with another word":       {with(func(m *channel.Message) { m.Text = "/stop now" }), false},
		"no command of this kind": {with(func(m *channel.Message) { m.Text = "/start" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.set(store.Account{Enabled: true, RemoteTools: wire.ToolsOwner, Senders: wire.SendersAnyone, OwnerID: "owner"})
			w.answers = name == "the owner" // an open question would take it
			w.receive(test.m)
			replies, claims := w.replies(), w.claims()
			if !test.command {
				if len(w.commands) > 0 || len(claims) != 1 || len(replies) > 0 || claims[0].Command != "" {
					t.Errorf("commands %v, claims %+v, replies %+v", w.commands, claims, replies)
				}
				return
			}
			if len(claims) > 0 || len(w.answered) > 0 || len(replies) != 1 || !slices.Equal(w.commands, []chatcommand.Command{chatcommand.Stop}) {
				t.Fatalf("commands %v, claims %+v, questions %v, replies %+v", w.commands, claims, w.answered, replies)
			}
			r := replies[0]
			if r.Kind != string(channel.Notice) || r.Text != "answer to /stop" || r.InReplyTo != "m1" || r.Conversation != Conversation(test.m) || !r.Transient {
				t.Errorf("the answer is %+v", r)
			}
		})
	}
}

// A command that comes again, also after a crash, is answered once and has its effect once.
func TestCommandsComeOnce(t *testing.T) {
	w := newWorld(t)
	m := from("owner", "m1")
	m.Text = "/status"
	w.receive(m, m)
	w.open()
	w.receive(m)
	if replies := w.replies(); len(replies) != 1 || len(w.commands) != 1 {
		t.Errorf("commands %v, replies %+v", w.commands, replies)
	}
}

// /new takes its turn among the messages of its conversation.
func TestNewIsAClaim(t *testing.T) {
	w := newWorld(t)
	batch := []channel.Message{from("owner", "m1"), from("owner", "m2"), from("owner", "m3")}
	batch[1].Text = "/NEW"
	w.receive(batch...)
	claims := w.claims()
	if len(claims) != 3 || claims[0].Command+claims[2].Command != "" || claims[1].Command != string(chatcommand.New) {
		t.Errorf("claims %+v", claims)
	}
	if len(w.commands) > 0 || len(w.replies()) > 0 || slices.Contains(w.answered, "m2") {
		t.Errorf("commands %v, offered to questions %v", w.commands, w.answered)
	}
}
