package feishu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"scv/daemon/channel"
)

// Bounds of the long connection.
const (
	connectTime = 20 * time.Second
	writeTime   = 10 * time.Second
	maxMessage  = 8<<20 + 64<<10 // bytes of one frame

	leastPing, mostPing, usualPing = 5, 3600, 120 // of the platform's units, which are seconds
)

// rhythm is the unit of the platform's intervals, and what is added to two of them before a silent peer is
// taken for dead. Tests have a faster one.
type rhythm struct{ unit, slack time.Duration }

var usualRhythm = rhythm{time.Second, 30 * time.Second}

// socket is one long connection.
type socket struct {
	conn    *websocket.Conn
	service int32
	rhythm
	interval atomic.Int64  // of pings, in nanoseconds
	changed  chan struct{} // holds an element when interval is another
	poked    chan struct{} // holds an element when a ping is wanted at once
}

type endpointAnswer struct {
	Data struct {
		URL    string       `json:"URL"`
		Config clientConfig `json:"ClientConfig"`
	} `json:"data"`
}

type clientConfig struct {
	PingInterval int64 `json:"PingInterval"`
}

// connect asks where the long connection leads, checks that, and goes there.
func connect(ctx context.Context, a *api, r rhythm) (*socket, error) {
	request, err := a.post(ctx, "/callback/ws/endpoint",
		map[string]string{"AppID": a.credentials.AppID, "AppSecret": a.credentials.AppSecret})
	if err != nil {
		return nil, err
	}
	request.Header.Set("locale", "zh")
	got, err := ask[endpointAnswer](&a.client, request, endpointCodes)
	if err != nil {
		return nil, err
	}
	service, err := a.platform.socketURL(got.Data.URL)
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, &a.client, got.Data.URL)
	if err != nil {
		return nil, err
	}
	s := &socket{conn: conn, service: service, rhythm: r, changed: make(chan struct{}, 1), poked: make(chan struct{}, 1)}
	s.pingEvery(got.Data.Config.PingInterval)
	return s, nil
}

// dial opens a URL that was checked. Its keys work once, and are in no error.
func dial(ctx context.Context, c *client, at string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	conn, response, err := websocket.Dial(ctx, at, &websocket.DialOptions{HTTPClient: &c.http})
	if err == nil {
		conn.SetReadLimit(maxMessage)
		return conn, nil
	}
	if response == nil {
		return nil, noAnswer(err)
	}
	code, _ := strconv.Atoi(response.Header.Get("Handshake-Status"))
	if inner, _ := strconv.Atoi(response.Header.Get("Handshake-Autherrcode")); inner != 0 {
		code = inner
	}
	// The secret was good a moment ago, or there were no URL: so this is no matter for the owner.
	return nil, &answer{response.StatusCode, code, meaning{again, false, "the connection was refused"}}
}

// pingEvery follows what the platform says of pings; nonsense is the usual interval.
func (s *socket) pingEvery(units int64) {
	if units < leastPing || units > mostPing {
		units = usualPing
	}
	if next := units * int64(s.unit); s.interval.Swap(next) != next {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

// poke asks the peer for a sign of life now.
func (s *socket) poke() {
	select {
	case s.poked <- struct{}{}:
	default:
	}
}

func (s *socket) ping() time.Duration { return time.Duration(s.interval.Load()) }

// silence is how long nothing may come before the peer is dead.
func (s *socket) silence() time.Duration { return 2*s.ping() + s.slack }

// keepAlive pings at once and then in the platform's rhythm. It ends with an error.
func (s *socket) keepAlive(ctx context.Context) error {
	for {
		f := frame{service: s.service, method: control, headers: []header{{"type", "ping"}}}
		if err := s.write(ctx, f); err != nil {
			return err
		}
		if err := s.untilPing(ctx); err != nil {
			return err
		}
	}
}

// untilPing waits for the next ping's time, from now on where the rhythm changes meanwhile.
func (s *socket) untilPing(ctx context.Context) error {
	timer := time.NewTimer(s.ping())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-s.poked:
			return nil
		case <-s.changed:
			timer.Reset(s.ping())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *socket) write(ctx context.Context, f frame) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	if err := s.conn.Write(ctx, websocket.MessageBinary, f.encode()); err != nil {
		return &lost{err}
	}
	return nil
}

// read hands data frames to out until the connection is lost or silent. heard is called for every frame.
// While out is full nothing is read, and silence does not count.
func (s *socket) read(ctx context.Context, out chan<- frame, heard func()) error {
	for {
		f, err := s.next(ctx)
		if err != nil {
			return err
		}
		heard()
		if f.method == control {
			s.take(f)
			continue
		}
		select {
		case out <- f:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *socket) next(ctx context.Context) (frame, error) {
	limit := s.silence()
	reading, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, raw, err := s.conn.Read(reading)
	switch {
	case err == nil:
		return decodeFrame(raw)
	case ctx.Err() != nil:
		return frame{}, ctx.Err()
	case reading.Err() != nil:
		return frame{}, &lost{fmt.Errorf("nothing came for %v", limit)}
	}
	return frame{}, &lost{err}
}

// take follows a pong.
func (s *socket) take(f frame) {
	var config struct {
		PingInterval *int64 `json:"PingInterval"`
	}
	if f.get("type") == "pong" && len(f.payload) > 0 && channel.ReadJSON(f.payload, &config) == nil && config.PingInterval != nil {
		s.pingEvery(*config.PingInterval)
	}
}

// acknowledge tells the platform that the event which f completed need not come again.
func (s *socket) acknowledge(ctx context.Context, f frame, took time.Duration) error {
	f.headers = append(f.headers[:len(f.headers):len(f.headers)], header{"biz_rt", strconv.FormatInt(took.Milliseconds(), 10)})
	f.payload, f.hasPayload = []byte(`{"code":`+strconv.Itoa(http.StatusOK)+`,"headers":null,"data":null}`), true
	return s.write(ctx, f)
}

func (s *socket) close() { _ = s.conn.CloseNow() } // whatever it says, the connection is gone

// lost is the end of a connection.
type lost struct{ err error }

func (l *lost) Error() string { return "the connection is lost: " + l.err.Error() }
func (l *lost) Unwrap() error { return l.err }

// words is what status shows of a failure, in one sentence.
func words(b Brand, err error) error {
	var (
		gone    *lost
		nobody  *unreachable
		refusal *answer
	)
	switch {
	case errors.As(err, &gone):
		return fmt.Errorf("the connection to %s was lost; it is made anew by itself", b.Title())
	case errors.As(err, &nobody):
		return fmt.Errorf("%s cannot be reached; it is tried again by itself", b.Title())
	case errors.As(err, &refusal):
		return fmt.Errorf("%s: %w; it is tried again by itself", b.Title(), refusal)
	case errors.Is(err, errSocketURL):
		return errSocketURL
	}
	return fmt.Errorf("something failed with %s; the log says what; it is tried again by itself", b.Title())
}
