package agent

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// acpGate keeps the library from what it does badly. It closes the connection when updates come faster
// than they are handled, starts a goroutine for every request it reads, logs what it cannot read, and
// forgets an answer that the end of the stream follows closely. So the gate hands it one message at a
// time, only as many as are handled, nothing that is no message, and the end last of all.
type acpGate struct {
	in  *bufio.Reader
	out io.Writer

	writing time.Duration // for one message to be taken
	end     func(error)   // ends the session
	over    <-chan struct{}

	rest []byte // of the message that is being handed over; used by the library's reader alone

	mu      sync.Mutex
	changed *sync.Cond
	came    int // messages that we must handle
	handled int
	asked   int // those of them that want an answer
	sent    int // messages that we write of ourselves
	written int // messages in all
	answers int // to what we asked
	taken   int
}

func newACPGate(in io.Reader, out io.Writer, writing time.Duration, over <-chan struct{}, end func(error)) *acpGate {
	g := &acpGate{in: bufio.NewReaderSize(in, 64<<10), out: out, writing: writing, over: over, end: end}
	g.changed = sync.NewCond(&g.mu)
	return g
}

// note changes a count, and lets who waits look again.
func (g *acpGate) note(count *int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	*count++
	g.changed.Broadcast()
}

// Write hands a message to the agent, which has so long to take it.
func (g *acpGate) Write(message []byte) (int, error) {
	limit := time.AfterFunc(g.writing, func() { g.end(errACPDeaf) })
	defer limit.Stop()
	n, err := g.out.Write(message)
	if err != nil {
		g.end(errACPEnded)
	}
	g.note(&g.written)
	return n, err
}

// Read gives the library the next message, or a part of it.
func (g *acpGate) Read(p []byte) (int, error) {
	for len(g.rest) == 0 {
		g.await(func() bool { return g.came-g.handled < acpQueue && g.asked-(g.written-g.sent) < acpQueue })
		line, err := g.message()
		if err != nil {
			return 0, g.last(err)
		}
		g.rest = line
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// settling is how long the end of the stream waits for what came before it to be handled.
const settling = time.Second

// last ends the session, once everything that came before is handled.
func (g *acpGate) last(err error) error {
	timer := time.AfterFunc(settling, func() { g.end(err) })
	defer timer.Stop()
	g.await(func() bool { return g.came == g.handled && g.answers == g.taken })
	g.end(err)
	return io.EOF
}

// await waits for a condition or the end of the session.
func (g *acpGate) await(ok func() bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !ok() && !g.isOver() {
		g.changed.Wait()
	}
}

func (g *acpGate) isOver() bool {
	select {
	case <-g.over:
		return true
	default:
		return false
	}
}

// message is the next line that is a message. Programs print a word of greeting or a warning now and
// then; one that prints nothing else is none of ours.
func (g *acpGate) message() ([]byte, error) {
	noise := 0
	for !g.isOver() {
		line, err := g.line()
		if err != nil {
			return nil, err
		}
		if g.count(line) {
			return line, nil
		}
		if noise += len(line); noise > acpNoise {
			return nil, errACPNoise
		}
	}
	return nil, errACPEnded
}

func (g *acpGate) line() ([]byte, error) {
	var line []byte
	for {
		part, err := g.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) >= acpLine:
			return nil, errACPLine
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, errACPEnded // a line without an end is none
		}
	}
}

// envelope is a message as the library reads it.
type envelope struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  string         `json:"method"`
	Error   *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    jsontext.Value `json:"data"`
	} `json:"error"`
}

// count says what a line is to us, and reports whether it is for the library. It knows the notifications
// that begin with $ as its own and tells nobody.
func (g *acpGate) count(line []byte) bool {
	var m envelope
	if acpRead(line, &m) != nil || strings.HasPrefix(m.Method, "$") {
		return false
	}
	wantsAnswer := len(m.ID) > 0 && m.ID.Kind() != 'n'
	switch {
	case m.Method == "" && wantsAnswer:
		g.note(&g.answers)
	case m.Method == "":
		return false
	default:
		g.note(&g.came)
		if wantsAnswer {
			g.note(&g.asked)
		}
	}
	return true
}
