package feishutest

import (
	"context"
	"os"
	"runtime"
	"testing"
)

// TestNothingIsLeftBehind holds descriptors and goroutines flat over many sockets of every end.
func TestNothingIsLeftBehind(t *testing.T) {
	p := New(t, Options{})
	app := p.App()
	c := newClient(t, p, app)
	ends := []func(*line){
		func(*line) { p.Kick(app.ID) },
		func(l *line) { _ = l.conn.CloseNow() },
		func(l *line) { p.HalfOpen(app.ID); _ = l.conn.CloseNow() },
		func(l *line) { p.Down(); l.http.CloseIdleConnections(); p.Up() },
	}
	round := func() {
		for _, end := range ends {
			l := c.dial()
			id := p.Say(p.Direct(app.ID, app.Owner), app.Owner, "hello")
			_, f := l.event()
			l.ack(f, "200")
			l.await("the ack", func() bool { return p.Acked(id) })
			end(l)
			_ = l.conn.CloseNow()
			l.await("no socket", func() bool { return p.Sockets(app.ID) == 0 })
		}
	}
	round()
	files, routines := descriptors(t), runtime.NumGoroutine()
	for range 20 {
		round()
	}
	// Idle connections of clients and handlers that are about to end may still be there.
	const slack = 10
	c.await("descriptors and goroutines flat", func() bool {
		return descriptors(t) <= files+slack && runtime.NumGoroutine() <= routines+slack
	})
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestDown(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.App()).signIn()
	l := c.dial()
	p.Down()
	if _, _, err := l.conn.Read(l.ctx); err == nil {
		t.Error("the socket lives")
	}
	if res, err := c.try("GET", "/open-apis/bot/v3/info", "", ""); err == nil {
		t.Errorf("answered %+v", res)
	}
	p.Up()
	if res := c.get("/open-apis/bot/v3/info"); res.Code != 0 {
		t.Errorf("answered %+v", res)
	}
}

func TestCloseEndsWhatWaits(t *testing.T) {
	p, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, p, p.App()).signIn()
	l := c.dial()
	p.Say(p.Direct(c.app.ID, c.app.Owner), c.app.Owner, "never acknowledged")
	l.event() // what is pushed is only queued, and the end writes no queue
	p.Inject(Fault{Route: BotInfo, Delay: 10 * limit})
	answered := make(chan error, 1)
	go func() {
		_, err := c.try("GET", "/open-apis/bot/v3/info", "", "")
		answered <- err
	}()
	c.await("the request", func() bool { return len(p.Requests(BotInfo)) == 1 })
	p.Close()
	if err := <-answered; err == nil {
		t.Error("answered after the end")
	}
	if _, _, err := l.conn.Read(l.ctx); err == nil {
		t.Error("the socket lives")
	}
	if err := p.Await(expiring(t), func() bool { return false }); err == nil {
		t.Error("it waits for nothing")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.AwaitSent(ctx, func(s []Sent) bool { return len(s) == 0 }); err != nil {
		t.Errorf("what holds is not waited for: %v", err)
	}
}
