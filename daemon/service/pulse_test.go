package service

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// ear is a service manager that writes down what it hears.
type ear struct {
	mu    sync.Mutex
	words []string
}

func (e *ear) hear(words ...string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.words = append(e.words, strings.Join(words, " "))
	return nil
}

// alive counts the signs of life since the last call.
func (e *ear) alive() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.words {
		n += strings.Count(w, "WATCHDOG=1")
	}
	e.words = nil
	return n
}

// beating is a pulse for a watchdog of a minute.
func beating(e *ear) *Pulse {
	p := NewPulse(&Notify{watchdog: time.Minute}, slog.New(slog.DiscardHandler))
	p.tell = e.hear
	return p
}

// TestPulseOfABusyDaemon: a start that takes its time is no hang, up to its limit.
func TestPulseOfABusyDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &ear{}
		p := beating(e)
		defer p.Start()()
		p.Busy(10 * time.Minute)
		synctest.Wait()
		if n := e.alive(); n != 1 {
			t.Errorf("%d signs of life at once", n)
		}
		time.Sleep(5*time.Minute + time.Second)
		if n := e.alive(); n != 10 {
			t.Errorf("%d signs of life in 5 minutes", n)
		}
		time.Sleep(5 * time.Minute)
		e.alive()
		time.Sleep(10 * time.Minute)
		if n := e.alive(); n != 0 {
			t.Errorf("%d signs of life of a start without an end", n)
		}
	})
}

// TestPulseNeedsAProof: once it serves, only what was shown is told, and a hang of the proof is silence.
func TestPulseNeedsAProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &ear{}
		p := beating(e)
		defer p.Start()()
		var mu sync.Mutex
		how := "well"
		p.Serving("serving /home/me/.scv", func(ctx context.Context) error {
			mu.Lock()
			now := how
			mu.Unlock()
			switch now {
			case "hangs":
				<-ctx.Done()
				return ctx.Err()
			case "fails":
				return errors.New("it does")
			}
			return nil
		})
		if got := strings.Join(e.words, "|"); got != "READY=1 STATUS=serving /home/me/.scv WATCHDOG=1" {
			t.Errorf("it said %q", got)
		}
		e.alive()
		for _, c := range []struct {
			how  string
			want int
		}{{"well", 10}, {"hangs", 0}, {"well", 10}, {"fails", 0}, {"well", 10}} {
			mu.Lock()
			how = c.how
			mu.Unlock()
			time.Sleep(time.Minute) // what was begun before comes to its end
			e.alive()
			time.Sleep(5 * time.Minute)
			if n := e.alive(); n < c.want-1 || n > c.want+1 || c.want == 0 && n > 0 {
				t.Errorf("%s: %d signs of life in 5 minutes, want about %d", c.how, n, c.want)
			}
		}
	})
}

// TestPulseIntoAHandOver: the last sign of life may be old when the daemon goes over to another release, and the
// proof that was under way fails because its rooms close.
func TestPulseIntoAHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &ear{}
		p := beating(e)
		defer p.Start()()
		p.Serving("serving", func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		time.Sleep(30*time.Second + time.Millisecond) // the proof is under way
		e.alive()
		p.Busy(time.Minute)
		time.Sleep(31 * time.Second)
		if n := e.alive(); n == 0 {
			t.Error("no sign of life after it began to go over")
		}
		p.Stopping()
		if e.words[0] != "STOPPING=1" {
			t.Errorf("it said %q", e.words)
		}
	})
}

// Where nobody counts signs of life, none is given that costs a proof; that a start takes long is told.
func TestPulseWithoutAWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &ear{}
		p := NewPulse(&Notify{}, slog.New(slog.DiscardHandler))
		p.tell = e.hear
		defer p.Start()()
		p.Busy(time.Minute)
		synctest.Wait()
		if got := strings.Join(e.words, "|"); got != "WATCHDOG=1 EXTEND_TIMEOUT_USEC=20000000" {
			t.Errorf("it said %q", got)
		}
		p.Serving("serving", func(context.Context) error { t.Error("it was asked"); return nil })
		e.alive()
		time.Sleep(time.Hour)
		if n := e.alive(); n != 0 {
			t.Errorf("%d signs of life", n)
		}
	})
	var none *Pulse
	defer none.Start()()
	none.Busy(time.Second)
	none.Serving("", nil)
	none.Stopping()
}
