package feishutest

import (
	"slices"
	"strconv"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
)

// Ack is an acknowledgement as it came.
type Ack struct {
	App       string
	EventID   string
	MessageID string // of im, "" for an event that brought none
	Code      int    // 200 is taken
	BizRt     string
	At        time.Time
	Took      time.Duration // since the first push
}

// delivery is an event on its way to an app.
type delivery struct {
	id        string // message_id of its frames
	app       string
	eventID   string
	messageID string
	text      []byte
	began     time.Time
	sent      []frameKey // what its frames carried
	acked     chan struct{}
	taken     bool
}

type frameKey struct{ seq, log uint64 }

// push starts a delivery if the app is connected. The first frame is queued before it returns, so that
// events keep the order of what they tell of.
func (p *Platform) push(app *App, kind, messageID string, event object) {
	if len(p.socketsOf(app.ID)) == 0 {
		return
	}
	d := &delivery{
		id: p.newID("frame"), app: app.ID, eventID: p.newID("event"), messageID: messageID, acked: make(chan struct{}),
		began: time.Now(),
	}
	d.text = []byte(encode(object{
		"schema": "2.0", "event": event, "header": object{
			"event_id": d.eventID, "event_type": kind, "create_time": millis(p.Now()), "token": "",
			"app_id": app.ID, "tenant_key": tenant,
		},
	}))
	p.deliveries[d.id] = d
	p.transmit(d)
	p.Go(func() { p.repeat(d) })
}

// repeat pushes an event again until it is acknowledged, without mu.
func (p *Platform) repeat(d *delivery) {
	for _, wait := range p.opts.Repush {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			p.change(func() { p.transmit(d) })
		case <-d.acked:
			timer.Stop()
			return
		case <-p.Context().Done():
			timer.Stop()
			return
		}
	}
}

// transmit writes an event into one of the app's sockets, a different one each time.
func (p *Platform) transmit(d *delivery) {
	sockets := p.socketsOf(d.app)
	if d.taken || len(sockets) == 0 {
		return
	}
	s := sockets[p.last%len(sockets)]
	p.pushes[d.messageID]++
	f := p.fault(Push, d.app)
	if f.Lose {
		return
	}
	for range 1 + f.Copies {
		for _, part := range p.parts(s, d, f) {
			s.write(part)
		}
	}
	if f.Kill {
		s.write(nil)
	}
}

func (p *Platform) parts(s *socket, d *delivery, f Fault) (parts [][]byte) {
	text := d.text
	if f.Junk != "" {
		text = []byte(f.Junk)
	}
	sum := min(max(f.Parts, 1), len(text))
	for i := range sum {
		p.last++
		key := frameKey{seq: uint64(p.last), log: uint64(p.last) << 20}
		d.sent = append(d.sent, key)
		part := &frame{
			SeqID: key.seq, LogID: key.log, Service: s.service, Method: data, LogIDNew: "2026",
			Payload: text[len(text)*i/sum : len(text)*(i+1)/sum],
			Headers: []header{
				{"type", "event"},
				{"message_id", d.id},
				{"sum", strconv.Itoa(sum)},
				{"seq", strconv.Itoa(i)},
				{"trace_id", d.eventID},
				{"timestamp", millis(p.Now())},
				{"instance_id", "instance"},
			},
		}
		parts = append(parts, part.encode())
	}
	if f.Shred {
		slices.Reverse(parts)
	}
	return parts
}

// receive takes a frame that a client sent.
func (p *Platform) receive(s *socket, kind websocket.MessageType, text []byte) {
	if kind != websocket.MessageBinary {
		p.Complain("a client sends a text through its socket: %.100q", text)
		return
	}
	f, err := decode(text)
	switch {
	case err != nil:
		p.Complain("a client sends no frame: %v", err)
	case f.Service != s.service:
		p.Complain("a frame is of the service %d, the socket is of %d", f.Service, s.service)
	case f.Method == control && f.header("type") == "ping":
		p.pong(s, f)
	case f.Method == data:
		p.acknowledge(s, f)
	default:
		p.Complain("a client sends a frame of the method %d and the type %q", f.Method, f.header("type"))
	}
}

func (p *Platform) pong(s *socket, f *frame) {
	p.pings[s.app]++
	if p.fault(Pong, s.app).Lose {
		return
	}
	s.write((&frame{
		SeqID: f.SeqID, LogID: f.LogID, Service: s.service, Method: control,
		Headers: []header{{"type", "pong"}}, Payload: []byte(encode(p.opts.Config)),
	}).encode())
}

func (p *Platform) acknowledge(s *socket, f *frame) {
	d := p.deliveries[f.header("message_id")]
	if d == nil || d.app != s.app {
		p.Complain("a client acknowledges %q, which it was not sent", f.header("message_id"))
		return
	}
	var said struct {
		Code *int `json:"code"`
	}
	err := json.Unmarshal(f.Payload, &said)
	_, notNumber := strconv.Atoi(f.header("biz_rt"))
	switch {
	case err != nil || said.Code == nil:
		p.Complain("an acknowledgement says %.100q", f.Payload)
		return
	case notNumber != nil:
		p.Complain("an acknowledgement says in biz_rt %q, which is no number", f.header("biz_rt"))
	case !slices.Contains(d.sent, frameKey{f.SeqID, f.LogID}):
		p.Complain("an acknowledgement carries numbers that no frame of its event had")
	}
	p.acks = append(p.acks, Ack{
		App: s.app, EventID: d.eventID, MessageID: d.messageID, Code: *said.Code, BizRt: f.header("biz_rt"), At: p.Now(),
		Took: time.Since(d.began),
	})
	if *said.Code == 200 && !d.taken {
		d.taken, p.taken[d.messageID] = true, true
		close(d.acked)
	}
}

// Acks are the acknowledgements, in the order they came.
func (p *Platform) Acks() []Ack {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.acks)
}

// Acked reports whether an app has taken a message, by its acknowledgement.
func (p *Platform) Acked(messageID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken[messageID]
}

// Pushes is how often a message was pushed, counting pushes that were lost on purpose.
func (p *Platform) Pushes(messageID string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pushes[messageID]
}

// Pings is how many pings an app has sent.
func (p *Platform) Pings(appID string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pings[appID]
}
