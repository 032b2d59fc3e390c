package feishutest

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"scv/internal/loopback"
)

// socket is one long connection of an app.
type socket struct {
	app     string
	service int32
	conn    *websocket.Conn
	tap     *loopback.Tap

	queue [][]byte // to be written, in order
	wake  chan struct{}
	end   context.CancelFunc
}

const (
	frameLimit   = 1 << 20 // the largest frame a client may send
	writeTimeout = 10 * time.Second
	serviceID    = 33554678
)

// Codes of the endpoint and the handshake.
const (
	codeAuthFailed = 514
	codeInternal   = 1000040343
	codeTooMany    = 1000040350
)

// endpoint says where an app's long connection goes.
func (p *Platform) endpoint(c *call) answer {
	var asked struct {
		AppID     string `json:"AppID"`
		AppSecret string `json:"AppSecret"`
	}
	err := json.Unmarshal(c.text, &asked) // the vendor's Go client names no type
	app := p.app(asked.AppID)
	none := object{} // without data the vendor's Node client takes a refusal for a broken answer
	switch {
	case err != nil:
		return refuse(http.StatusOK, codeInternal, "the body is no JSON object").with("data", none)
	case app == nil || app.Secret != asked.AppSecret || c.brand != "" && c.brand != app.Brand:
		return refuse(http.StatusOK, codeAuthFailed, "app id or secret is invalid").with("data", none)
	case len(p.socketsOf(app.ID)) >= p.opts.MaxConns:
		return refuse(http.StatusOK, codeTooMany, "the number of connections exceeded the limit").with("data", none)
	}
	ticket := p.newID("ticket")
	p.tickets[ticket] = app.ID
	query := url.Values{
		"fpid": {"493"}, "aid": {"552564"}, "device_id": {strconv.Itoa(p.last)}, "service_id": {strconv.Itoa(serviceID)},
		"access_key": {p.newID("key")}, "ticket": {ticket},
	}
	return ok(object{"URL": socketBase(c) + "/ws/v2?" + query.Encode(), "ClientConfig": p.opts.Config})
}

// socketBase is the host of sockets that belongs to the host that was asked.
func socketBase(c *call) string {
	scheme := "ws://"
	if c.TLS != nil {
		scheme = "wss://"
	}
	if brand := brandOf(c.Host); brand != "" {
		return scheme + "msg-frontier." + domains[brand]
	}
	return scheme + c.Host
}

// elsewhere is an endpoint's answer with another URL. "%" in it stands for what the platform would say.
func elsewhere(a answer, with string) answer {
	if data, found := a.body["data"].(object); found {
		own, _ := data["URL"].(string)
		data["URL"] = strings.ReplaceAll(with, "%", own)
	}
	return a
}

// shakeHands is called without mu: it makes a socket of a request.
func (p *Platform) shakeHands(w http.ResponseWriter, r *http.Request) {
	var app string
	var fault Fault
	var code, auth int
	p.change(func() {
		app, code, auth = p.admit(r.URL.Query().Get("ticket"))
		if fault = p.fault(Handshake, app); fault.Status != 0 || fault.Code != 0 {
			code, auth = fault.Code, fault.AuthCode
		}
	})
	if !p.wait(fault.Delay) {
		panic(http.ErrAbortHandler)
	}
	if code != 0 || fault.Status != 0 {
		w.Header().Set("Handshake-Status", strconv.Itoa(code))
		w.Header().Set("Handshake-Msg", "refused")
		w.Header().Set("Handshake-Autherrcode", strconv.Itoa(auth))
		w.WriteHeader(max(fault.Status, http.StatusForbidden))
		return
	}
	ctx, end := context.WithCancel(p.Context())
	defer end()
	s := &socket{app: app, service: serviceID, wake: make(chan struct{}, 1), end: end}
	if s.tap = loopback.TapOf(r); fault.HalfOpen {
		s.tap.HalfOpenSoon()
	}
	// It counts from before the handshake is done: whoever has dialed misses nothing from then on.
	p.change(func() { p.sockets = append(p.sockets, s) })
	defer func() { p.change(func() { p.forget(s) }) }()
	var err error
	if s.conn, err = websocket.Accept(w, r, nil); err != nil {
		p.change(func() { p.Complain("a handshake fails: %v", err) })
		return
	}
	s.conn.SetReadLimit(frameLimit)
	p.run(ctx, s)
}

// admit takes a one-time key.
func (p *Platform) admit(ticket string) (app string, code, auth int) {
	app, found := p.tickets[ticket]
	delete(p.tickets, ticket)
	if !found {
		return "", codeAuthFailed, codeAuthFailed
	}
	if len(p.socketsOf(app)) >= p.opts.MaxConns {
		return app, codeAuthFailed, codeTooMany
	}
	return app, 0, 0
}

// run is a socket's life, without mu.
func (p *Platform) run(ctx context.Context, s *socket) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer s.end() // a writer that fails ends the reader
		p.writing(ctx, s)
	}()
	for {
		kind, text, err := s.conn.Read(ctx)
		if err != nil {
			break
		}
		p.change(func() { p.receive(s, kind, text) })
	}
	s.end()
	_ = s.conn.CloseNow()
	<-written
}

func (p *Platform) writing(ctx context.Context, s *socket) {
	for {
		var next [][]byte
		p.mu.Lock()
		next, s.queue = s.queue, nil
		p.mu.Unlock()
		for _, text := range next {
			if text == nil { // the mark of a kill
				return
			}
			bounded, cancel := context.WithTimeout(ctx, writeTimeout)
			err := s.conn.Write(bounded, websocket.MessageBinary, text)
			cancel()
			if err != nil {
				return
			}
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}

func (s *socket) write(text []byte) {
	s.queue = append(s.queue, text)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (p *Platform) socketsOf(app string) (all []*socket) {
	for _, s := range p.sockets {
		if s.app == app {
			all = append(all, s)
		}
	}
	return all
}

func (p *Platform) forget(s *socket) {
	p.sockets = slices.DeleteFunc(p.sockets, func(other *socket) bool { return other == s })
}

// Sockets is how many sockets an app has.
func (p *Platform) Sockets(appID string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.socketsOf(appID))
}

// Kick closes all sockets of an app without a word and returns how many.
func (p *Platform) Kick(appID string) (n int) {
	p.change(func() {
		for _, s := range p.socketsOf(appID) {
			p.forget(s)
			s.end()
			n++
		}
	})
	return n
}

// HalfOpen leaves an app's sockets as they are and lets nothing pass in them any more. The platform counts
// them as connected and pushes into them.
func (p *Platform) HalfOpen(appID string) (n int) {
	p.change(func() {
		for _, s := range p.socketsOf(appID) {
			s.tap.HalfOpen()
			n++
		}
	})
	return n
}

// Configure changes what the platform tells of connections: the endpoint and every pong say it.
func (p *Platform) Configure(config ClientConfig) { p.change(func() { p.opts.Config = config }) }
