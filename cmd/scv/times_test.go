package main

import (
	"testing"
	"time"
)

// Who waits for less than some minutes is told the second.
func TestClockTime(t *testing.T) {
	now := time.Date(2026, 5, 6, 12, 0, 30, 0, time.Local)
	a := &app{now: func() time.Time { return now }}
	for after, want := range map[time.Duration]string{
		40 * time.Second:  "12:01:10",
		-time.Minute:      "11:59:30",
		5 * time.Minute:   "12:05",
		30 * time.Minute:  "12:30",
		-30 * time.Minute: "11:30",
		13 * time.Hour:    "2026-05-07 01:00",
	} {
		if got := a.clockTime(uint64(now.Add(after).Unix())); got != want {
			t.Errorf("%v from now: %s, want %s", after, got, want)
		}
	}
}
