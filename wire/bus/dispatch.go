package bus

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"scv/wire"
)

// headerRequester is set by nats-server on a request that crosses from one account to another.
const headerRequester = "Nats-Request-Info"

// dispatch hands a request to a worker. NATS calls it for one request of an endpoint at a time; while
// every worker is busy it waits, and the requests behind it with it.
// What asks for no reply is not done: nobody would know of its refusal.
func (s *Server) dispatch(e Endpoint, r micro.Request) {
	if r.Reply() == "" {
		return
	}
	s.slots <- struct{}{}
	if !s.begin() {
		<-s.slots
		return
	}
	go func() {
		defer s.tasks.Done()
		defer func() { <-s.slots }()
		s.answer(e, r)
	}()
}

// begin counts one more task, unless the server stops.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.tasks.Add(1)
	return true
}

func (s *Server) answer(e Endpoint, r micro.Request) {
	ctx, cancel := context.WithTimeout(s.life, handlerTimeout)
	defer cancel()
	request := Request{
		Subject: e.Subject,
		Peer:    requester(r.Headers()),
		ID:      r.Headers().Get(headerRequestID),
		Data:    r.Data(),
	}
	msg := &nats.Msg{Subject: r.Reply()}
	reply, err := s.handle(ctx, e, request)
	if err == nil {
		msg.Data = reply
	} else {
		refusal := s.refusal(request, err)
		msg.Header = nats.Header{
			micro.ErrorCodeHeader: {string(refusal.Code)},
			micro.ErrorHeader:     {refusal.Text},
		}
	}
	// Not by r.Respond or r.Error: micro looks at r again, meanwhile, in the goroutine of dispatch.
	if err := s.nc.PublishMsg(msg); err != nil {
		s.log.Warn("cannot reply", "subject", e.Subject, "err", err)
	}
}

func (s *Server) handle(ctx context.Context, e Endpoint, r Request) (reply []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			what := fmt.Sprintf("a panic (%T)", p) // its words may hold a message's text; the runtime's never do
			if fault, ok := p.(runtime.Error); ok {
				what = fault.Error()
			}
			s.log.Error("a handler panicked", "subject", e.Subject, "what", what, "stack", string(debug.Stack()))
			reply, err = nil, internal()
		}
	}()
	switch {
	case len(r.Data) > wire.MaxRequest:
		return nil, tooLarge()
	case r.Peer == "":
		return nil, wire.Refuse(wire.Forbidden, "the daemon cannot tell who asks")
	}
	reply, err = e.Handle(ctx, r)
	if err == nil && len(reply) > wire.MaxReply {
		return nil, wire.Refuse(wire.InvalidRequest, "the reply would be larger than %d MiB; ask for less", wire.MaxReply>>20)
	}
	return reply, err
}

func (s *Server) refusal(r Request, err error) *wire.Error {
	var refused *wire.Error
	if errors.As(err, &refused) {
		return refused
	}
	s.log.Error("a request failed", "subject", r.Subject, "peer", r.Peer, "err", err)
	return internal()
}

func internal() *wire.Error {
	return wire.Refuse(wire.Unavailable, "internal error; see the daemon's log (scv logs)")
}

// requester is the verified user of the connection a request came by, or "". The transport lets no
// such header through from a client; two of them would mean that it failed.
func requester(h micro.Headers) string {
	values := h.Values(headerRequester)
	if len(values) != 1 {
		return ""
	}
	var info struct {
		User string `json:"user"`
	}
	if err := json.Unmarshal([]byte(values[0]), &info); err != nil {
		return ""
	}
	return info.User
}
