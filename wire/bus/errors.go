package bus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/nats-io/nats.go"
)

var (
	// ErrNoDaemon says that nothing listens on the socket.
	ErrNoDaemon = errors.New("the daemon is not running")
	// ErrStarting says that a daemon listens and does not serve yet, or no longer.
	ErrStarting = errors.New("the daemon is starting or stopping; try again in a moment")
	// ErrNotAnswering says that a daemon took the request and gave no answer in time.
	ErrNotAnswering = errors.New("the daemon does not answer")
	// ErrTurnedAway says that the daemon does not take this connection, mostly because there are too
	// many. The daemon's own words follow it.
	ErrTurnedAway = errors.New("the daemon turns this connection away for now")
	// ErrLost says that the connection broke. The request may or may not have taken effect: Do asks
	// once more under the same request id.
	ErrLost = errors.New("the connection to the daemon was lost")
	// ErrTooOld says that the daemon has no such request: it is older than the caller.
	ErrTooOld = errors.New("the daemon does not know this request: it is older than this scv; restart it")
	// ErrDenied says that this caller may not listen to such events.
	ErrDenied = errors.New("these events are not for this caller")
)

// plain turns what nats.go and the socket say into the errors above.
func plain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrNoResponders):
		return ErrStarting
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return ErrNotAnswering
	case errors.Is(err, nats.ErrNoInfoReceived):
		return ErrTurnedAway
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected),
		errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("%w (%v)", ErrLost, err)
	}
	return err
}
