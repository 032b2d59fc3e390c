package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSlowlyTells(t *testing.T) {
	for _, c := range []struct {
		watched bool
		takes   time.Duration
		want    string
	}{
		{true, quiet - time.Millisecond, ""},
		{true, time.Minute, "counting ...\n"},
		{false, time.Minute, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var told strings.Builder
			a := &app{watched: c.watched, stderr: &told}
			end := a.slowly("counting")
			time.Sleep(c.takes)
			end()
			time.Sleep(time.Minute)
			if told.String() != c.want {
				t.Errorf("watched %v, after %s: %q", c.watched, c.takes, told.String())
			}
		})
	}
}
