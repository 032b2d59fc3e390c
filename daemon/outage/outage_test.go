package outage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"scv/wire"
)

func seen(state wire.ComponentState) []wire.ComponentHealth {
	return []wire.ComponentHealth{{ID: "feishu:work", State: state, Enabled: state != wire.Disabled}}
}

// Each line is a minute: what is seen, and what is due then. What is due is done at once, unless it says later.
func TestLook(t *testing.T) {
	down := func(n int) (s []wire.ComponentState) {
		for i := range n {
			s = append(s, []wire.ComponentState{wire.Starting, wire.Disconnected, wire.Backoff}[i%3])
		}
		return s
	}
	then := func(parts ...any) (s []wire.ComponentState) {
		for _, part := range parts {
			switch part := part.(type) {
			case wire.ComponentState:
				s = append(s, part)
			case []wire.ComponentState:
				s = append(s, part...)
			}
		}
		return s
	}
	for name, test := range map[string]struct {
		states []wire.ComponentState
		want   string
	}{
		"not for long":                     {then(wire.Connected, down(10), wire.Connected), "up@0 up@11"},
		"ten minutes, once":                {then(wire.Connected, down(30)), "up@0 down@11"},
		"never connected since the start":  {down(12), "down@10"},
		"short ones are not added up":      {then(down(9), wire.Connected, down(9), wire.Connected), "up@9 up@19"},
		"again in the next one":            {then(down(11), wire.Connected, down(11)), "down@10 up@11 down@22"},
		"one that needs a person, soon":    {then(wire.Connected, wire.Failed, wire.Failed), "up@0 down@2"},
		"tried once more and failed again": {then(wire.Failed, wire.Failed, wire.Starting, wire.Failed, wire.Failed), "down@1"},
		"first silent, then failed":        {then(down(3), wire.Failed, wire.Failed), "down@4"},
		"signed in anew":                   {then(wire.Connected, wire.Failed, wire.Starting, wire.Connected), "up@0 up@3"},
		"silent, then signed in anew":      {then(down(3), wire.Failed, wire.Starting, wire.Connected), "up@5"},
		"told, and then failed":            {then(down(11), wire.Failed), "down@10"},
		"turned off":                       {then(wire.Disabled, wire.Disabled), "up@0"},
		"turned off because of it": {
			then(wire.Failed, wire.Failed, wire.Disabled, wire.Failed, wire.Failed), "down@1 up@2 down@4",
		},
	} {
		var w Watch
		var got []string
		for i, state := range test.states {
			for _, d := range w.Look(time.Unix(0, 0).Add(time.Duration(i)*time.Minute), seen(state)) {
				got = append(got, fmt.Sprintf("%s@%d", map[bool]string{true: "up", false: "down"}[d.Up], i))
				w.Settle(d.Health.ID)
			}
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// What could not be done stays due; an account that is gone is forgotten.
func TestUnsettledStaysDue(t *testing.T) {
	var w Watch
	now := time.Unix(0, 0)
	for i := range 4 {
		due := w.Look(now.Add(time.Duration(i)*Moment), seen(wire.Failed))
		if first := i == 0; len(due) != 1 != first || !first && due[0].Up {
			t.Errorf("due is %+v", due)
		}
	}
	w.Settle("feishu:work")
	w.Look(now, nil)
	w.Settle("feishu:work")
	w.Look(now, seen(wire.Failed))
	if due := w.Look(now.Add(Moment), seen(wire.Failed)); len(due) != 1 {
		t.Errorf("of an account that is new due is %+v", due)
	}
}

func TestText(t *testing.T) {
	problem := "Feishu cannot be reached"
	d := Due{Health: wire.ComponentHealth{ID: "feishu:work", State: wire.Disconnected, Error: &problem}}
	want := "The account feishu:work has not been connected for 10 minutes: Feishu cannot be reached.\nIf that does not pass by itself: scv x"
	if got := d.Text("scv x"); got != want {
		t.Errorf("%q", got)
	}
	d.Health.State, d.Health.Error = wire.Failed, nil
	if got := d.Text("scv x"); got != "The account feishu:work does not run any more and waits for you.\nscv x" {
		t.Errorf("%q", got)
	}
}
