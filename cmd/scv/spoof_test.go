package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"scv/wire"
	"scv/wire/bus"
)

// TestSpoofedQuestions asks questions that try to look like something else. What is stored is what is
// shown: one line, nothing unseen in it, of bounded length, in a frame that it cannot leave.
func TestSpoofedQuestions(t *testing.T) {
	t.Parallel()
	total := number(t, "SCV_SPOOFS", 100)
	seed := uint64(number(t, "SCV_SPOOF_SEED", int(time.Now().UnixNano()%1e9)))
	t.Logf("%d questions, seed %d (SCV_SPOOF_SEED=%d repeats it)", total, seed, seed)
	home := newHome(t)
	d := startDaemon(t, home)
	var workers sync.WaitGroup
	for w := range 4 {
		c := d.client(t)
		random := rand.New(rand.NewPCG(seed, uint64(w)))
		workers.Go(func() {
			for range total / 4 {
				if err := askSpoofed(t.Context(), c, spoof(random)); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
	workers.Wait()
	c := d.client(t)
	for _, size := range []int{wire.MaxQuestion + 1, wire.MaxRequest - 100, wire.MaxRequest + 1} {
		_, err := c.Control(t.Context(), wire.ConfirmAskCommand{Question: strings.Repeat("?", size)})
		if refused, ok := asRefusal(err); !ok || refused.Code != wire.InvalidRequest {
			t.Errorf("a question of %d bytes: %v", size, err)
		}
	}
	got := at(t, home).scv("confirm", "--timeout", "1s", "ok?\u202eseY\n«yes» \x1b[2J\u200b")
	if got.code != 1 || strings.ContainsAny(got.out+got.errOut, "\u202e\x1b\u200b") {
		t.Errorf("scv confirm: %+v", got)
	}
	d.terminate(t)
}

// spoof is a question made of what deceives eyes and programs.
func spoof(r *rand.Rand) string {
	pieces := []string{
		"Delete everything", "\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\n", "\r\n", "\r", "\t", "\x00", "\x1b[2J", "\x1b]0;x\a", "»", "«", "\u2028",
		"\u2029", "\u3164", "\U000e0041", "\ufe0f", "e\u0301\u0301\u0301\u0301\u0301\u0301\u0301", "**yes**", "<b>", "[x](http://y)", "@all", "`", "\u00a0\u00a0", "scv confirm 00: you asks",
		"\nAnswer yes or no", "yes", "\u00ad", "\u2800", "\u115f", "日本", "😀", "\u0600", strings.Repeat("\u202e", 700), strings.Repeat("x", 2000),
	}
	var b strings.Builder
	for b.WriteString("Q"); ; {
		piece := pieces[r.IntN(len(pieces))]
		if b.Len()+len(piece) > wire.MaxQuestion || r.IntN(12) == 0 {
			return b.String()
		}
		b.WriteString(piece)
	}
}

// askSpoofed asks, holds what is stored against what the chat shows, and withdraws.
func askSpoofed(ctx context.Context, c *bus.Client, question string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	status, err := c.Control(ctx, wire.ConfirmAskCommand{Question: question})
	if err != nil {
		return fmt.Errorf("asking %.100q: %w", question, err)
	}
	detail, err := c.ConfirmShow(ctx, status.Confirm.ID)
	for err == nil && detail.OpenedUnixMillis == nil {
		time.Sleep(2 * time.Millisecond)
		detail, err = c.ConfirmShow(ctx, status.Confirm.ID)
	}
	if err != nil {
		return err
	}
	attached, err := c.ChatAttach(ctx, wire.ChatAttach{Account: "default", AfterSeq: new(uint64)})
	if err != nil {
		return err
	}
	if err := shownAsStored(attached.Lines, detail); err != nil {
		return fmt.Errorf("%w: asked %.200q", err, question)
	}
	_, err = c.ConfirmWithdraw(ctx, detail.Confirm.ID)
	return err
}

func shownAsStored(lines []wire.ChatLine, q wire.ConfirmDetail) error {
	if len(q.Question) > wire.MaxQuestion || q.Question == "" {
		return fmt.Errorf("it has %d bytes", len(q.Question))
	}
	for _, r := range q.Question {
		if unicode.IsControl(r) || r == '«' || r == '»' || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return fmt.Errorf("%U is shown", r)
		}
	}
	for _, line := range lines {
		if line.Kind != wire.ChatQuestion || !strings.HasPrefix(line.Text, "scv confirm "+q.Code+": ") {
			continue
		}
		parts := strings.Split(line.Text, "\n")
		if len(parts) != 3 || parts[1] != "«"+q.Question+"»" {
			return fmt.Errorf("shown is %.300q, stored %.300q", line.Text, q.Question)
		}
		return nil
	}
	return fmt.Errorf("the chat does not show question %s", q.Code)
}
