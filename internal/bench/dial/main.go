// Command dial is the least that a command line could do: it dials a socket, reads the first line and
// ends. The bench measures `scv status` beside it.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
)

func main() {
	conn, err := net.Dial("unix", os.Args[1])
	if err == nil {
		_, err = bufio.NewReader(conn).ReadString('\n')
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dial:", err)
		os.Exit(1)
	}
}
