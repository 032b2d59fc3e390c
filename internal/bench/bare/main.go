// Command bare is the least that a daemon could be: an embedded server without a listener and an open
// bbolt file. It prints "ready" and stays until its standard input ends. The bench measures the start and
// the memory of the real daemon beside it.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.etcd.io/bbolt"
)

func main() {
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

func serve(path string) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return err
	}
	ns, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoSystemAccount: true})
	if err != nil {
		return err
	}
	ns.Start()
	if !ns.ReadyForConnections(5 * time.Second) {
		return errors.New("the embedded server does not come up")
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	ns.Shutdown()
	ns.WaitForShutdown()
	return errors.Join(err, db.Close())
}
