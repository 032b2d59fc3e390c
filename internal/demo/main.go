// Command demo shows what SCV does, as a person would see it: it makes a temporary home, runs the real
// scv command in it, tells in plain words what happens, and checks every step. It needs no network, no
// terminal and no agent; it touches no other home and leaves nothing behind. `make demo` runs it, and
// `make demo-feishu` and `make demo-wechat` its stories of a chat platform, which it plays itself; nothing imports it.
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

// nextVersion is what the other build says that it is.
const nextVersion = "99.0.0"

// patience bounds the whole demo. It takes about twenty seconds where nothing is wrong.
const patience = 2 * time.Minute

// stories are what can be told, by name.
var stories = map[string]func(*stage) []scene{"local": story, "feishu": feishuStory, "wechat": wechatStory}

func main() {
	scv := flag.String("scv", "./bin/scv", "the scv command to show")
	next := flag.String("next", "./bin/scv-next", "another build of it, version "+nextVersion)
	name := flag.String("story", "local", "which story to tell: local, feishu or wechat")
	flag.Parse()
	tell, known := stories[*name]
	if !known {
		fmt.Fprintf(os.Stderr, "demo: there is no story %q\n", *name)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := run(ctx, *scv, *next, os.Stdout, tell); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

// run tells a story and clears up, however it ends.
func run(ctx context.Context, scv, next string, out io.Writer, tell func(*stage) []scene) error {
	base, err := os.MkdirTemp("", "scv-demo-")
	if err != nil {
		return fmt.Errorf("cannot make a folder for the demo: %w", err)
	}
	s := &stage{ctx: ctx, out: out, scv: filepath.Join(base, "bin", "scv"), next: next, base: base, home: filepath.Join(base, "home")}
	if err = copyProgram(scv, s.scv); err == nil {
		err = s.play(tell(s))
	}
	if err != nil {
		s.showLog()
	}
	return errors.Join(err, s.clear())
}

// copyProgram makes a copy of a program, which a restart may replace.
func copyProgram(from, to string) error {
	program, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		err = os.WriteFile(to, program, 0o700)
	}
	if err != nil {
		return fmt.Errorf("cannot install scv for the demo: %w", err)
	}
	return nil
}
