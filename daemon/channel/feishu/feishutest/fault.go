package feishutest

import (
	"net/http"
	"time"
)

// Route is a place where a fault can happen.
type Route string

// The routes of HTTP, and below them those of the long connection.
const (
	Registration Route = "registration"
	Token        Route = "token"
	BotInfo      Route = "bot info"
	Endpoint     Route = "endpoint"
	Send         Route = "send"
	Reply        Route = "reply"
	Get          Route = "get"
	List         Route = "list"
	Update       Route = "update"
	React        Route = "react"
	Resource     Route = "resource"
	UploadImage  Route = "upload image"
	UploadFile   Route = "upload file"

	Handshake Route = "handshake"
	Push      Route = "push"
	Pong      Route = "pong"
)

// Fault is one thing that goes wrong. Its zero fields do nothing.
type Fault struct {
	Route Route
	App   string // of this app alone; "" is any
	Skip  int    // so many pass before it
	Times int    // how often; 0 is once, below 0 without end

	Delay time.Duration // before anything else happens

	// Of a request: it is answered so, and takes effect only with Late.
	Status      int    // 0 is 200
	Code        int    // of the platform, in a JSON body
	Msg         string // its words
	Body        string // instead of that
	ContentType string
	Header      http.Header
	Cut         bool // no answer: the connection is closed
	Late        bool // the request takes effect, only its answer is this

	// Of an endpoint: the URL it names.
	SocketURL string

	// Of a handshake.
	AuthCode int  // Handshake-Autherrcode
	HalfOpen bool // it succeeds, and nothing passes afterwards

	// Of a push.
	Copies int    // it is pushed so many times more
	Parts  int    // in so many frames
	Shred  bool   // parts in reverse order
	Kill   bool   // the socket is closed right after it
	Junk   string // these bytes stand for the event

	// Of a push or a pong: it is not sent.
	Lose bool
}

// answers reports whether a request is answered by the fault itself.
func (f *Fault) answers() bool {
	return f.Status != 0 || f.Code != 0 || f.Body != "" || f.Cut
}

// Inject adds faults. The first one that fits happens.
func (p *Platform) Inject(faults ...Fault) {
	p.change(func() {
		for _, f := range faults {
			if f.Times == 0 {
				f.Times = 1
			}
			p.faults = append(p.faults, &f)
		}
	})
}

// Heal takes all faults back.
func (p *Platform) Heal() { p.change(func() { p.faults = nil }) }

// fault is what goes wrong this time: a fault without any field for nothing.
func (p *Platform) fault(route Route, app string) Fault {
	for _, f := range p.faults {
		if f.Route != route || f.App != "" && f.App != app || f.Times == 0 {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times > 0 {
			f.Times--
		}
		return *f
	}
	return Fault{}
}

// wait waits for a fault's delay, without mu, and reports whether the platform still runs.
func (p *Platform) wait(d time.Duration) bool {
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.Context().Done():
		return false
	}
}
