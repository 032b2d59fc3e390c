// Command echo answers every control request with the one line it was given on standard input, through
// the daemon's own transport and bus. It prints "ready" and stays until its standard input ends. The bench
// measures the daemon's handling of a request beside it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"scv/daemon/transport"
	"scv/wire"
	"scv/wire/bus"
)

func main() {
	if err := serve(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, socket string) error {
	in := bufio.NewReader(os.Stdin)
	answer, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	answer = bytes.TrimRight(answer, "\n")
	log := slog.New(slog.DiscardHandler)
	us := transport.Peer{UID: os.Getuid()}
	server, err := transport.Start(ctx, transport.Options{
		Log: log, SocketPath: socket, Identify: func(*net.UnixConn) transport.Peer { return us },
	})
	if err != nil {
		return err
	}
	defer server.Close()
	endpoints := []bus.Endpoint{{
		Name: "control", Subject: wire.SubjectControl,
		Handle: func(context.Context, bus.Request) ([]byte, error) { return answer, nil },
	}}
	requests, err := bus.Serve(ctx, server.DaemonConn, server.DaemonPassword(), "bench", endpoints, log)
	if err != nil {
		return err
	}
	defer requests.Close()
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, in)
	return err
}
