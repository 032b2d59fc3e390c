// Command demo shows what SCV does, as a person would see it: it makes a temporary home, runs the real
// scv command in it, tells in plain words what happens, and checks every step. It needs no network, no
// terminal and no agent; it touches no other home and leaves nothing behind. `make demo` runs it;
// nothing imports it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// patience bounds the whole demo. It takes about ten seconds where nothing is wrong.
const patience = 2 * time.Minute

func main() {
	scv := flag.String("scv", "./bin/scv", "the scv command to show")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := run(ctx, *scv, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

// run tells the story and clears up, however it ends.
func run(ctx context.Context, scv string, out io.Writer) error {
	scv, err := filepath.Abs(scv)
	if err != nil {
		return fmt.Errorf("cannot find scv: %w", err)
	}
	base, err := os.MkdirTemp("", "scv-demo-")
	if err != nil {
		return fmt.Errorf("cannot make a folder for the demo: %w", err)
	}
	s := &stage{ctx: ctx, out: out, scv: scv, base: base, home: filepath.Join(base, "home")}
	err = s.play(story(s))
	if err != nil {
		s.showLog()
	}
	return errors.Join(err, s.clear())
}
