package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"scv/wire/bus"
)

// crowdName is the test binary as the crowd: it opens as many silent connections to a home as it is told,
// and ends.
const crowdName = "scv-test-crowd"

func crowd() {
	n, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = crowdIn(os.Args[1], n)
	}
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
}

// crowdIn opens n silent connections and keeps as many of them as this process may have.
func crowdIn(home string, n int) error {
	var silent []net.Conn
	closeAll := func(these []net.Conn) {
		for _, conn := range these {
			conn.Close()
		}
	}
	defer func() { closeAll(silent) }()
	for opened := 0; opened < n; {
		conn, err := net.Dial("unix", bus.SocketPath(home, instanceID(home)))
		switch {
		case errors.Is(err, unix.EAGAIN): // more wait to be let in than the kernel keeps
			time.Sleep(time.Millisecond)
		case errors.Is(err, unix.EMFILE) && len(silent) > 1:
			closeAll(silent[:len(silent)/2])
			silent = silent[len(silent)/2:]
		case err != nil:
			return fmt.Errorf("after %d connections: %w", opened, err)
		default:
			silent = append(silent, conn)
			opened++
		}
	}
	return nil
}
