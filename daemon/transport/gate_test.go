package transport

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

const inbox = "_INBOX_0123456789abcdef0123456789abcdef."

// through gives what the gate makes of what a client writes, and why it stopped.
func through(said []byte) (string, error) {
	var out bytes.Buffer
	g := newGate(bytes.NewReader(said), &out)
	g.inbox = inbox
	err := g.pass()
	return out.String(), err
}

func TestGate(t *testing.T) {
	const status = `{"action":"status"}`
	for _, c := range []struct {
		name, in, out string
		err           error
	}{
		{"ping", "PING\r\n", "PING\r\n", io.EOF},
		{"bare newline", "PONG\n", "PONG\r\n", io.EOF},
		{"subscription", "SUB a.b  1\r\n", "SUB a.b 1\r\n", io.EOF},
		{"queue", "SUB a.b q 1\r\n", "SUB a.b q 1\r\n", io.EOF},
		{"unsubscribe", "UNSUB 1 \r\nUNSUB 1 5\r\n", "UNSUB 1\r\nUNSUB 1 5\r\n", io.EOF},
		{"publish", "PUB a 2\r\nhi\r\n", "PUB a 2\r\nhi\r\n", io.EOF},
		{"empty", "PUB a 0\r\n\r\n", "PUB a 0\r\n\r\n", io.EOF},
		{"request", "PUB a " + inbox + "x 19\r\n" + status + "\r\n", "PUB a " + inbox + "x 19\r\n" + status + "\r\n", io.EOF},
		{"payload like a line", "PUB a 8\r\nSUB > 1\r\r\n", "PUB a 8\r\nSUB > 1\r\r\n", io.EOF},
		{"our header", "HPUB a 31 33\r\nNATS/1.0\r\nScv-Request-Id: 7\r\n\r\nhi\r\n", "HPUB a 31 33\r\nNATS/1.0\r\nScv-Request-Id: 7\r\n\r\nhi\r\n", io.EOF},
		{"their header", "HPUB a 30 32\r\nNATS/1.0\r\nNats-Trace-Dest: x\r\n\r\nhi\r\n", "", errHeader},
		{"their header dropped", "HPUB a 32 34\r\nNATS/1.0\r\nNats-Trace-Dest: x\r\n\r\nhi\r\n", "PUB a 2\r\nhi\r\n", io.EOF},
		{"no header", "HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", "PUB a 2\r\nhi\r\n", io.EOF},
		{"status line", "HPUB a 16 18\r\nNATS/1.0 503\r\n\r\nhi\r\n", "", errHeader},
		{"strange reply", "PUB a b 0\r\n\r\n", "", errReply},
		{"inbox without its dot", "PUB a " + strings.TrimSuffix(inbox, ".") + " 0\r\n\r\n", "", errReply},
		{"wrong size", "PUB a 1\r\nhi\r\n", "", errOp},
		{"cut off", "PUB a 5\r\nhi", "", io.EOF},
		{"negative", "PUB a -1\r\n", "", errPayload},
		{"plus", "PUB a +1\r\nx\r\n", "", errPayload},
		{"huge", "PUB a 99999999999\r\n", "", errPayload},
		{"8 MiB and a byte", "PUB a 8388609\r\n", "", errPayload},
		{"header over message", "HPUB a 12 11\r\n", "", errPayload},
		{"header too large", "HPUB a 4097 5000\r\n", "", errPayload},
		{"lower case", "pub a 0\r\n\r\n", "", errOp},
		{"connect again", "CONNECT {}\r\n", "", errOp},
		{"server's word", "MSG a 1 0\r\n\r\n", "", errOp},
		{"nothing", "\r\n", "", errOp},
		{"too long", "SUB " + strings.Repeat("x", 4096) + " 1\r\n", "", errLine},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := through([]byte(c.in))
			if err != c.err {
				t.Errorf("stopped with %v, want %v", err, c.err)
			}
			if out != c.out {
				t.Errorf("passed %q, want %q", out, c.out)
			}
		})
	}
}

// FuzzGate: what has passed once passes again, unchanged. So nothing in it reads in two ways.
func FuzzGate(f *testing.F) {
	f.Add([]byte("SUB a.b  1\r\nPUB a 2\r\nhi\r\nPING\r\n"))
	f.Add([]byte("HPUB a 31 33\r\nNATS/1.0\r\nScv-Request-Id: 7\r\n\r\nhi\r\n"))
	f.Add([]byte("HPUB a 40 40\r\nNATS/1.0\r\nX: 1\nNats-Request-Info: {}\r\n\r\n\r\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		once, _ := through(said)
		twice, err := through([]byte(once))
		if once != twice || err != io.EOF {
			t.Errorf("%q became %q (%v)", once, twice, err)
		}
	})
}
