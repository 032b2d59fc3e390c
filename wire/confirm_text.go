package wire

import (
	"fmt"
	"time"
)

// Message is the question as its chat shows it: the asker's words are one line between « and », which they
// cannot contain, so they cannot pass for the lines around them. The chat and whoever shows the question again
// say the same.
func (d ConfirmDetail) Message() string {
	who := "someone on this machine"
	if d.Asker != nil {
		who = *d.Asker
	}
	var wait uint64
	if d.Confirm.DeadlineUnixSeconds > d.AskedUnixSeconds {
		wait = min(d.Confirm.DeadlineUnixSeconds-d.AskedUnixSeconds, MaxConfirmSeconds)
	}
	return fmt.Sprintf("scv confirm %s: %s asks\n«%s»\nAnswer yes or no (if several questions are open: yes %s or no %s). No answer within %s counts as no.",
		d.Code, who, d.Question, d.Code, d.Code, patience(time.Duration(wait)*time.Second))
}

// patience is how long an answer is waited for, in words. Minutes are rounded up; what is shorter than
// two is told in seconds.
func patience(d time.Duration) string {
	if d == time.Second {
		return "1 second"
	}
	if d < 2*time.Minute && d%time.Minute != 0 {
		return fmt.Sprintf("%d seconds", d/time.Second)
	}
	n := max((d+time.Minute-1)/time.Minute, 1)
	if n == 1 {
		return "1 minute"
	}
	return fmt.Sprintf("%d minutes", n)
}
