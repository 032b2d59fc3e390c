package service

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// The variables by which systemd says how it wants to hear of us: sd_notify(3), sd_watchdog_enabled(3).
const (
	envSocket   = "NOTIFY_SOCKET"
	envWatchdog = "WATCHDOG_USEC"
	envWatched  = "WATCHDOG_PID"
)

// What it understands.
const (
	saysReady    = "READY=1"
	saysStopping = "STOPPING=1"
	saysAlive    = "WATCHDOG=1"
	saysMoreTime = "EXTEND_TIMEOUT_USEC="
	saysStatus   = "STATUS="
)

// tellLimit is how long a datagram may wait for room in the manager's queue.
const tellLimit = time.Second

// Notify is a way to tell the service manager how this process is. Nil: there is none that wants to hear.
type Notify struct {
	socket   string
	watchdog time.Duration // without a sign of life for so long we are ended; 0: never
}

// NotifyOf is how the manager of the process pid wants to hear, as the environment says.
func NotifyOf(getenv func(string) string, pid int) *Notify {
	socket := getenv(envSocket)
	if !strings.HasPrefix(socket, "/") && !strings.HasPrefix(socket, "@") { // other kinds are for virtual machines
		return nil
	}
	n := &Notify{socket: socket}
	usec, err := strconv.ParseInt(getenv(envWatchdog), 10, 64)
	watched := getenv(envWatched)
	if err == nil && usec > 0 && usec < int64(time.Duration(1<<62)/time.Microsecond) && (watched == "" || watched == strconv.Itoa(pid)) {
		n.watchdog = time.Duration(usec) * time.Microsecond
	}
	return n
}

// Tell sends words of ours, all at once.
func (n *Notify) Tell(words ...string) error {
	if n == nil {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err == nil {
		defer conn.Close()
		_ = conn.SetWriteDeadline(time.Now().Add(tellLimit))
		_, err = conn.Write([]byte(strings.Join(words, "\n")))
	}
	if err != nil {
		return fmt.Errorf("cannot tell the service manager %q: %w", words[0], err)
	}
	return nil
}
