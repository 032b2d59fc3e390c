package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for want, values := range map[float64][]float64{2: {9, 1, 2}, 2.5: {1, 3, 2, 9}} {
		if got := median(values); got != want {
			t.Errorf("median of %v is %v, want %v", values, got, want)
		}
	}
}

// Every side is measured in every round, and none always after the same other.
func TestInTurns(t *testing.T) {
	var order strings.Builder
	side := func(name string, v float64) sample {
		return func(context.Context) (float64, error) { order.WriteString(name); return v, nil }
	}
	m, err := inTurns(t.Context(), 2, side("a", 1), side("b", 2))
	if err != nil || m[0] != 1 || m[1] != 2 || order.String() != "abba" {
		t.Errorf("medians %v in the order %s: %v", m, order.String(), err)
	}
}

func TestRateEndsWithAnError(t *testing.T) {
	broken := errors.New("broken")
	_, err := rate(t.Context(), 2, time.Hour, func(context.Context, int) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		name string
		row  row
		want string
	}{
		{"at the upper bound", atMost("", 7, 2, 3.5, 3.5, "ms"), "yes"},
		{"over it", atMost("", 8, 2, 4, 3.5, "ms"), "**no**"},
		{"at the lower bound", atLeast("", 7, 10, 0.7, 0.7, "/s"), "yes"},
		{"under it", atLeast("", 6, 10, 0.6, 0.7, "/s"), "**no**"},
		{"only shown", shown("", "", "", ""), ""},
		{"a file at its bound", growthRow(5*mib, 2*mib), "yes"},
		{"a larger file", growthRow(5*mib+1, 2*mib), "**no**"},
		{"too much memory", memoryRows([]share{{"heap", 41 * mib}}, []share{{"heap", mib}})[0], "**no**"},
	} {
		if got := c.row.verdict(); got != c.want {
			t.Errorf("%s: met %q, want %q", c.name, got, c.want)
		}
	}
}
