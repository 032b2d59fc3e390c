package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// ago says how long ago a time was, roughly; nil is never.
func (a *app) ago(seconds *uint64) string {
	if seconds == nil {
		return "never"
	}
	return roughly(a.now().Sub(unixTime(*seconds))) + " ago"
}

// roughly is a duration in its largest whole unit. A clock that was stepped gives no negative one.
func roughly(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	}
	return fmt.Sprintf("%dd", int(d/(24*time.Hour)))
}

// unixTime takes seconds from the wire; what no calendar holds becomes the far future.
func unixTime(seconds uint64) time.Time {
	const farFuture = math.MaxInt32 * 100 // about the year 8800
	return time.Unix(int64(min(seconds, farFuture)), 0)
}

// near is how close a time of day is told with its seconds: a person who waits counts them.
const near = 5 * time.Minute

// clockTime is a time of day in the local zone, with its date where that is not today.
func (a *app) clockTime(seconds uint64) string {
	at, now := unixTime(seconds).Local(), a.now().Local()
	if at.Sub(now).Abs() < near {
		return at.Format(time.TimeOnly)
	}
	if at.Year() == now.Year() && at.YearDay() == now.YearDay() {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// plainSpan is a duration as a person would type it: 5h, not 5h0m0s.
func plainSpan(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
