package main

import (
	"strings"
	"testing"
	"time"

	"scv/wire"
)

const asker = `
[agents.asks]
command = ["sh", "-c", "cat >/dev/null; scv notify 'I begin'; scv confirm 'Deploy?'; echo confirm ended with $?"]
`

// TestDelegateAsks: an agent that scv delegate started in a terminal can tell its owner something and ask him,
// though no chat stands behind it.
func TestDelegateAsks(t *testing.T) {
	home := newHome(t)
	writeConfig(t, home, asker)
	d := startDaemon(t, home)
	c := d.client(t)
	for answer, want := range map[string]string{"yes": "confirm ended with 0", "no": "confirm ended with 1"} {
		o := delegate(t, home, "asks", "x")
		ended := make(chan error, 1)
		go func() { ended <- o.cmd.Wait() }()
		for open(t, c) == 0 {
			select {
			case err := <-ended:
				t.Fatalf("it asked nobody: %v\n%s%s", err, o.out, o.errs)
			case <-time.After(10 * time.Millisecond):
			}
		}
		list, err := c.ConfirmList(t.Context(), wire.ConfirmListRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if by := list.Confirms[0].Asker; by == nil || !strings.HasPrefix(*by, "asks-") {
			t.Errorf("asked by %v", by)
		}
		say(t, c, randomID(), answer)
		if err := <-ended; err != nil || !strings.Contains(o.out.String(), want) {
			t.Errorf("%s: %v\n%s%s", answer, err, o.out, o.errs)
		}
	}
	from := uint64(0)
	shown, err := c.ChatAttach(t.Context(), wire.ChatAttach{Account: "default", AfterSeq: &from})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, l := range shown.Lines {
		if strings.Contains(l.Text, " says\n«I begin»") {
			told++
		}
	}
	if told != 2 {
		t.Errorf("told %d times: %+v", told, shown.Lines)
	}
	d.terminate(t)
	awaitNobody(t, home)
}
