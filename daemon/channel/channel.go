// Package channel is the port that a chat platform's adapter implements, and the plain values that pass
// through it. Adapters live in the folders below, one per platform, each the only room that knows that
// platform's API. An adapter knows neither the store nor the bus: it gets what it needs as a Host.
package channel

import (
	"context"
	"errors"
	"io"
	"time"
)

// Message is what somebody wrote, as the platform vouches for it.
type Message struct {
	ID          string    // the platform's id, 1..256 bytes: the key of de-duplication
	Chat        string    // the platform's id of the chat
	Sender      string    // the platform's id of who wrote it
	Direct      bool      // the sender's direct chat, not a group
	Thread      string    // the platform's id of the thread within the chat, or "": a conversation of its own
	Text        string    // trimmed
	Files       []File    // what came with it, not fetched yet
	Quotes      string    // message id it quotes, or ""
	Quoted      string    // text of what it quotes, where that is not part of Text
	Root        string    // text of the message that its thread began with, where that is another and known; at most 16 KiB
	ReplyHandle string    // what a reply must carry, or ""
	SentAt      time.Time // the platform's send time; zero where it gives none
	Terminal    bool      // local: a person typed it at a terminal
}

// File is what came with a message: a picture, a document, a recording. The daemon fetches it when a turn
// needs it, and so perhaps after a restart.
type File struct {
	Kind FileKind
	Name string // as the sender called it, or ""; it is no path
	Size int64  // bytes as the platform says, 0 where it does not
	Ref  string // where it is, for Carrier.Fetch alone; at most 4 KiB of text. It may hold a key, so it is a secret
}

// FileKind is how a platform shows a file.
type FileKind string

const (
	Image    FileKind = "image"
	Document FileKind = "document"
	Voice    FileKind = "voice" // with no words of it in the message's text
	Video    FileKind = "video"
)

// Outgoing is one part of a message to send. A retry carries the same ClientID.
type Outgoing struct {
	ClientID    string // stable over retries, so that a platform can drop a repeat
	Chat        string
	Kind        Kind
	Text        string
	File        *Upload // a part that is a file, which has no Text; only to a Carrier
	InReplyTo   string  // message id this answers, or ""
	ReplyHandle string  // of that message
	First       bool    // the first part of the message
	Last        bool    // the last part of the answer to InReplyTo
}

// Upload is a file to hand to the platform: a regular file of ours that nobody writes to any more.
type Upload struct {
	Path string // absolute
	Name string // how the receiver sees it: one path element of valid UTF-8
	Kind FileKind
	Size int64 // bytes
}

// Kind says whose words an outgoing text is.
type Kind string

const (
	Reply    Kind = "reply"    // the agent's words
	Failure  Kind = "failure"  // why there is no answer
	Notice   Kind = "notice"   // the program's own words
	Question Kind = "question" // a question to the owner
	Progress Kind = "progress" // what an agent does, before its answer
)

// Receipt is the platform's acceptance of a part.
type Receipt struct {
	MessageID string    // as the platform names it, or ""
	At        time.Time // the platform's own send time; zero where it gives none
}

// Adapter runs one account of one platform.
type Adapter interface {
	// Serve receives until ctx ends (then it returns nil) or the platform fails. An error made by
	// Permanent needs a person; any other is tried again.
	Serve(ctx context.Context) error
	// Send hands one part to the platform. It may be called while Serve runs. Nil means accepted;
	// an error that is ErrRefused is final; any other is tried again with the same ClientID.
	Send(ctx context.Context, out Outgoing) (Receipt, error)
	// MaxText is the largest text of one part in bytes.
	MaxText() int
}

// Carrier is an Adapter whose platform carries files.
type Carrier interface {
	Adapter
	// Fetch writes what a file holds to w, at most limit bytes. ErrTooLarge is a file that has more, which is
	// then not read further; ErrRefused one that is not to be had any more; any other error may pass.
	Fetch(ctx context.Context, file File, w io.Writer, limit int64) error
	// MaxUpload is the largest file that it takes of a kind, in bytes.
	MaxUpload(kind FileKind) int64
}

// Typist is what an Adapter is as well whose platform shows that somebody is writing.
type Typist interface {
	// Typing shows in a chat that the message of a handle is being answered, until ctx ends. It returns early
	// where that cannot be shown: nothing hangs on it.
	Typing(ctx context.Context, chat, handle string)
	// TakesProgress reports whether its chats get lines of Progress besides.
	TakesProgress() bool
}

// Host is what the daemon gives an adapter.
type Host struct {
	// Receive takes messages in order and returns once each is durable or known; only then may the
	// adapter acknowledge them or move its cursor.
	Receive func(ctx context.Context, batch []Message) error
	// ReceiveTo is Receive that also moves the account's cursor, in the commit of the last message: after
	// a crash the cursor is never ahead of what was taken. A batch may be empty.
	ReceiveTo func(ctx context.Context, batch []Message, cursor string) error
	// Cursor is what ReceiveTo last stored, as the adapter wrote it; "" before the first.
	Cursor func() (string, error)
	// Contact reports the outcome of the latest authenticated exchange: nil is a fresh success, an
	// error one fixed sentence of what a person can do.
	Contact func(err error)
}

// Account is what an adapter must know of the account it runs.
type Account struct {
	Channel string
	Name    string
	OwnerID string // the owner's id on the platform, or ""
	Anyone  bool   // it answers whoever writes, not the owner alone
}

// ID is the component id, <channel>:<account>.
func (a Account) ID() string { return a.Channel + ":" + a.Name }

// SignInCommand is how a person signs the account in.
func (a Account) SignInCommand() string {
	command := "scv channels login " + a.Channel
	if a.Name != "default" {
		command += " --account " + a.Name
	}
	return command
}

// ErrRefused marks an outgoing text that the platform will never take.
var ErrRefused = errors.New("the platform refused it")

// ErrTooLarge marks a file of more bytes than were asked for.
var ErrTooLarge = errors.New("the file is too large")

// PermanentError is a failure that needs a person; Advice is what status shows.
type PermanentError struct{ Advice string }

func (e *PermanentError) Error() string { return e.Advice }

// Permanent makes an error that is not retried on a timer.
func Permanent(advice string) error { return &PermanentError{Advice: advice} }
