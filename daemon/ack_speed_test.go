package daemon

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// A message is kept and acknowledged before the platform could think that it was not: the median stays
// within 5 ms where a commit takes a fraction of one and nobody else is at work (SCV_ACK_MS=5).
func TestAcknowledgementIsQuick(t *testing.T) {
	m := newInFeishu(t)
	newTalk(t, m)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var took []time.Duration
	for range 101 {
		began := time.Now()
		id := m.p.Say(m.chat, m.app.Owner, "hello")
		if err := m.p.Await(ctx, func() bool { return m.p.Acked(id) }); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	median, worst := took[len(took)/2], took[len(took)-1]
	t.Logf("message in, kept, acknowledged: median %v, worst %v", median, worst)
	most := 50 * time.Millisecond // ten times what is promised: this machine may be busy with others
	if text := os.Getenv("SCV_ACK_MS"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("SCV_ACK_MS: %v", err)
		}
		most = time.Duration(ms) * time.Millisecond
	}
	if median > most {
		t.Errorf("the median is %v, more than %v", median, most)
	}
}
