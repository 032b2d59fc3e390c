package wechattest

import (
	"net/http"
	"time"
)

// Route is a place where a fault can happen.
type Route string

// The routes.
const (
	QRCode    Route = "get_bot_qrcode"
	QRStatus  Route = "get_qrcode_status"
	Updates   Route = "getupdates"
	Send      Route = "sendmessage"
	Config    Route = "getconfig"
	Type      Route = "sendtyping"
	UploadURL Route = "getuploadurl"
	Started   Route = "notifystart"
	Stopped   Route = "notifystop"
	Upload    Route = "c2c/upload"
	Download  Route = "c2c/download"
)

// Fault is one thing that goes wrong. Its zero fields do nothing.
type Fault struct {
	Route Route
	Bot   string // of this bot alone, by id; "" is any
	Skip  int    // so many pass before it
	Times int    // how often; 0 is once, below 0 without end

	Delay time.Duration // before anything else happens

	// It is answered so, and takes effect only with Late.
	Status int    // of HTTP; 0 is 200
	Ret    int    // in a JSON body, with Msg
	Code   int    // errcode there; a refusal on a context_token is for good
	Msg    string // errmsg there
	Body   string // instead of that
	Empty  bool   // no body at all
	Header http.Header
	Cut    bool // no answer: the connection is closed
	Late   bool // the request takes effect, only its answer is this

	// It takes effect, and its answer is changed.
	Set   map[string]any // these fields are set; nil takes one away
	Clip  bool           // half of it is written, and the connection closed
	Stall bool           // half of it is written, and nothing more

	// Of a poll.
	Copies  int  // each message is in the answer so many times more
	Reverse bool // the messages are in reverse order
	Again   bool // it brings everything from the beginning, whatever its cursor
}

// answers reports whether a request is answered by the fault itself.
func (f *Fault) answers() bool {
	return f.Status != 0 || f.Ret != 0 || f.Code != 0 || f.Body != "" || f.Empty || f.Cut
}

// refuses reports whether it says no for good.
func (f *Fault) refuses() bool {
	return f.Status == 0 && (f.Ret != 0 || f.Code != 0) && f.Ret != expired && f.Code != expired
}

func (f *Fault) answer() answer {
	a := answer{status: f.Status, header: f.Header, cut: f.Cut}
	switch {
	case f.Body != "":
		a.bytes = []byte(f.Body)
	case f.Ret != 0 || f.Code != 0:
		a.body = object{}
		if f.Ret != 0 {
			a.body["ret"] = f.Ret
		}
		if f.Code != 0 {
			a.body["errcode"] = f.Code
		}
		if f.Msg != "" {
			a.body["errmsg"] = f.Msg
		}
	case f.Status >= http.StatusInternalServerError: // a gateway's own page
		a.bytes = []byte("<html>" + http.StatusText(f.Status) + "</html>")
	}
	return a
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
func (p *Platform) fault(route Route, b *Bot) Fault {
	for _, f := range p.faults {
		if f.Route != route || f.Bot != "" && (b == nil || f.Bot != b.ID) || f.Times == 0 {
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

// wait waits for a fault's delay, without mu, and reports whether the client still waits.
func (p *Platform) wait(r *http.Request, d time.Duration) bool {
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	case <-p.Context().Done():
		return false
	}
}
