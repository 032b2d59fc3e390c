package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progress tells the client of a call how it goes, if the client wants to know.
type progress struct {
	ctx     context.Context
	session *mcp.ServerSession
	token   any

	mu    sync.Mutex
	last  string
	steps float64
}

// Write takes what scv says on its way as news.
func (p *progress) Write(text []byte) (int, error) {
	p.say(strings.TrimSpace(string(text)))
	return len(text), nil
}

func (p *progress) say(news string) {
	if p.token == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if news != "" {
		p.last = news
	}
	p.steps++
	// A client that does not listen loses nothing but this.
	_ = p.session.NotifyProgress(p.ctx, &mcp.ProgressNotificationParams{ProgressToken: p.token, Message: p.last, Progress: p.steps})
}

// every repeats the latest news, so that the client does not take silence for the end. The function it
// returns stops that.
func (p *progress) every(d time.Duration) func() {
	if p.token == nil {
		return func() {}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				p.say("")
			}
		}
	}()
	return func() { close(stop); <-done }
}
