package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"scv/wire"
)

const (
	maxLine    = 4096 // of the protocol, as nats-server has it
	maxHeaders = 4096 // bytes
)

// refusal is what a client is told before it is cut, in the words of the NATS protocol.
type refusal string

func (r refusal) Error() string { return string(r) }

const (
	errLine     = refusal("maximum control line exceeded")
	errOp       = refusal("unknown protocol operation")
	errPayload  = refusal("maximum payload violation")
	errHeader   = refusal("malformed header")
	errReply    = refusal("permissions violation for publish with a reply to another inbox")
	errAuth     = refusal("authorization violation")
	errUID      = refusal("authorization violation: another user's daemon")
	errFull     = refusal("maximum connections exceeded")
	errRunFull  = refusal("maximum connections exceeded for this delegated run")
	errWildcard = refusal("permissions violation for a subscription with a wildcard")
	errNameUsed = refusal("authorization violation: the name is in use")

	errInsideFull = refusal("maximum connections exceeded for all delegated runs together")
)

// isHeader reports whether line is one header as it should be: no byte in it that another reader could
// take for the end of a line.
func isHeader(line []byte) bool {
	name, value, named := bytes.Cut(line, []byte(":"))
	value, ended := bytes.CutSuffix(value, []byte("\r\n"))
	return named && ended && len(name) > 0 && len(bytes.Trim(name, nameBytes)) == 0 && !bytes.ContainsAny(value, "\r\n\x00")
}

const nameBytes = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// isClientName reports whether name is 128 bits in hex: a guessable one, or one with a wildcard, would
// open its inbox to others.
func isClientName(name string) bool {
	return len(name) == 32 && strings.Trim(name, "0123456789abcdef") == ""
}

// gate reads what a client writes and writes anew, in one canonical form, what may pass. So the server
// behind it and the daemon never disagree about where a message or a header begins.
type gate struct {
	in    *bufio.Reader
	out   *bufio.Writer
	inbox string // where replies may go
	blind bool   // inside a run: it may read an event it can name, not whatever is told to others
}

func newGate(outer io.Reader, inner io.Writer) *gate {
	return &gate{in: bufio.NewReaderSize(outer, maxLine), out: bufio.NewWriterSize(inner, 32<<10)}
}

// hello is what may pass of a client's CONNECT.
type hello struct {
	Verbose      bool   `json:"verbose"`
	Pedantic     bool   `json:"pedantic"`
	Name         string `json:"name"`
	Lang         string `json:"lang"`
	Version      string `json:"version"`
	Protocol     int    `json:"protocol"`
	Echo         bool   `json:"echo"`
	Headers      bool   `json:"headers"`
	NoResponders bool   `json:"no_responders"`
	User         string `json:"user"`
	Pass         string `json:"pass"`
}

func (g *gate) line() ([]byte, error) {
	line, err := g.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, errLine
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func (g *gate) readConnect() (hello, error) {
	var h hello
	line, err := g.line()
	if err != nil {
		return h, err
	}
	body, isConnect := bytes.CutPrefix(line, []byte("CONNECT "))
	if !isConnect {
		return h, errOp
	}
	if err := json.Unmarshal(body, &h); err != nil {
		return h, errAuth
	}
	if !isClientName(h.User) {
		return h, errAuth
	}
	return h, nil
}

func (g *gate) passConnect(h hello, token string) error {
	h.Pass = token
	body, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return g.write("CONNECT", string(body))
}

// pass lets operations through until one may not, or a side ends.
func (g *gate) pass() error {
	for {
		line, err := g.line()
		if err == nil {
			err = g.operation(line)
		}
		if err != nil {
			return err
		}
	}
}

func (g *gate) operation(line []byte) error {
	words := bytes.Fields(line)
	if len(words) == 0 {
		return errOp
	}
	args := make([]string, len(words)-1)
	for i, word := range words[1:] {
		args[i] = string(word)
	}
	switch op := string(words[0]); {
	case (op == "PING" || op == "PONG") && len(args) == 0,
		op == "UNSUB" && (len(args) == 1 || len(args) == 2):
		return g.write(op, args...)
	case op == "SUB" && (len(args) == 2 || len(args) == 3):
		if g.blind && !strings.HasPrefix(args[0], g.inbox) && strings.ContainsAny(args[0], "*>") {
			return errWildcard
		}
		return g.write(op, args...)
	case op == "PUB" && (len(args) == 2 || len(args) == 3):
		return g.publish(args[:len(args)-1], "0", args[len(args)-1])
	case op == "HPUB" && (len(args) == 3 || len(args) == 4):
		return g.publish(args[:len(args)-2], args[len(args)-2], args[len(args)-1])
	}
	return errOp
}

// publish passes one message to address: a subject and, if there are two, where the reply goes.
func (g *gate) publish(address []string, headerSize, totalSize string) error {
	header, err := size(headerSize, maxHeaders)
	if err != nil {
		return err
	}
	total, err := size(totalSize, wire.MaxReply)
	if err != nil || header > total {
		return errPayload
	}
	if len(address) == 2 && !strings.HasPrefix(address[1], g.inbox) {
		return errReply
	}
	kept, err := g.headers(header)
	if err != nil {
		return err
	}
	return g.message(address, kept, total-header)
}

func (g *gate) message(address []string, header []byte, body int) error {
	op, sizes := "PUB", []string{strconv.Itoa(body)}
	if len(header) > 0 {
		op, sizes = "HPUB", []string{strconv.Itoa(len(header)), strconv.Itoa(len(header) + body)}
	}
	g.put(op, slices.Concat(address, sizes)...)
	g.out.Write(header)
	if _, err := io.CopyN(g.out, g.in, int64(body)); err != nil {
		return err
	}
	var end [2]byte
	if _, err := io.ReadFull(g.in, end[:]); err != nil {
		return err
	}
	if string(end[:]) != "\r\n" {
		return errOp
	}
	g.out.Write(end[:])
	return g.out.Flush()
}

// headers reads a header block of n bytes and keeps those of our own language. All others are for the
// server: with one of them a client could claim to be another peer, or have its traffic traced.
func (g *gate) headers(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	block := make([]byte, n)
	if _, err := io.ReadFull(g.in, block); err != nil {
		return nil, err
	}
	const first = "NATS/1.0\r\n"
	rest, ok := bytes.CutPrefix(block, []byte(first))
	if !ok || !bytes.HasSuffix(rest, []byte("\r\n")) {
		return nil, errHeader
	}
	kept := []byte(first)
	for _, line := range bytes.SplitAfter(rest[:len(rest)-2], []byte("\r\n")) {
		if len(line) == 0 {
			continue // after the last one
		}
		if !isHeader(line) {
			return nil, errHeader
		}
		if bytes.HasPrefix(line, []byte("Scv-")) {
			kept = append(kept, line...)
		}
	}
	if len(kept) == len(first) {
		return nil, nil
	}
	return append(kept, "\r\n"...), nil
}

func size(digits string, limit int) (int, error) {
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n > uint64(limit) {
		return 0, errPayload
	}
	return int(n), nil
}

// put adds a line; the writer keeps the first error for Flush.
func (g *gate) put(op string, args ...string) {
	g.out.WriteString(op)
	for _, arg := range args {
		fmt.Fprintf(g.out, " %s", arg)
	}
	g.out.WriteString("\r\n")
}

func (g *gate) write(op string, args ...string) error {
	g.put(op, args...)
	return g.out.Flush()
}
