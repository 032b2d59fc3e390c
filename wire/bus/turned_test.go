package bus

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// TestTurnedAwayInTheDaemonsWords: why a connection is not taken is told before the greeting.
func TestTurnedAwayInTheDaemonsWords(t *testing.T) {
	for said, want := range map[string]string{
		"-ERR 'maximum connections exceeded for this run'\r\n": ": maximum connections exceeded for this run",
		"-ERR and no end": ErrTurnedAway.Error(),
		"-ERR 'no end":    ErrTurnedAway.Error(),
		"-ERR " + strings.Repeat("x", 9000) + "\r\n": ErrTurnedAway.Error(),
	} {
		path := listener(t, func(conn net.Conn) {
			io.WriteString(conn, said)
			conn.Close()
		})
		_, err := Connect(t.Context(), SocketDialer(path))
		if !errors.Is(err, ErrTurnedAway) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", said, err, want)
		}
	}
}
