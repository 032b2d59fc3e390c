package confirm_test

import (
	"testing"
	"time"

	"scv/daemon/confirm"
	"scv/internal/clock"
	"scv/wire"
)

const (
	account = "feishu:default"
	chat    = "chat-1"
	owner   = "ou_owner"
	timeout = 30 * time.Minute
)

var start = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// at is the time d after start, in the first boot.
func at(d time.Duration) clock.Stamp {
	return clock.Stamp{Wall: start.Add(d), BootID: "boot-1", Boot: time.Hour + d}
}

func never(string) bool { return false }

// question is one asked at the start and not yet sent; its code is 2 hex digits of n.
func question(t testing.TB, id string, n int) confirm.Question {
	t.Helper()
	ask := confirm.Ask{Account: account, Chat: chat, Owner: owner, Question: "Deploy " + id + "?"}
	q, err := confirm.New(ask, at(0), id, never, func(int) int { return n })
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// opened is a question that the platform accepted a second after it was asked.
func opened(t testing.TB, id string, n int) confirm.Question {
	t.Helper()
	q, line := question(t, id, n).Attempt(at(0)).Accept(at(time.Second), start.Add(time.Second))
	if q.State != wire.Pending || q.Opened.IsZero() || line != "" {
		t.Fatalf("not opened: %+v, %q", q, line)
	}
	return q
}

// says is the owner's message, sent a minute after the start.
func says(text string) confirm.Answer {
	return confirm.Answer{
		Account: account, Chat: chat, Sender: owner, Direct: true, Text: text,
		MessageID: "om_1", SentAt: start.Add(time.Minute),
	}
}
