package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"scv/internal/layout"
	"scv/internal/testexe"
)

// instanceID is what the socket of a home is found by.
var instanceID = layout.Instance

// TestMain lets the test binary be scv itself for the scripts, and fails on a goroutine left behind.
func TestMain(m *testing.M) {
	testexe.Run()
	testscript.Main(leakChecked{m}, map[string]func(){"scv": main, "testexe": testexe.Run, crowdName: crowd})
}

type leakChecked struct{ m *testing.M }

// buildFolder holds the programs that tests build; it goes when they end.
var buildFolder string

func (l leakChecked) Run() int {
	folder, err := os.MkdirTemp("", "scv-builds-")
	if err != nil {
		println("no folder for builds:", err.Error())
		return 1
	}
	buildFolder = folder
	defer os.RemoveAll(folder)
	defer testexe.Tidy()
	heedSignals()
	end := startThread()
	code := l.m.Run()
	end()
	if err := goleak.Find(); err != nil && code == 0 {
		println("goroutines were left behind:", err.Error())
		return 1
	}
	return code
}

// heedSignals lets signals end what tests start, also where whoever started the tests ignores them, as nohup does:
// a program inherits what is ignored, but not what is handled.
func heedSignals() {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// result is how one run of scv ended.
type result struct {
	code        int
	out, errOut string
}

// hand runs scv in this process with its own world.
type hand struct {
	ctx   context.Context
	env   map[string]string
	stdin string
}

// at is a hand for one home, with nothing else in its environment.
func at(t *testing.T, home string) *hand {
	return &hand{ctx: t.Context(), env: map[string]string{"SCV_HOME": home}}
}

func (h *hand) scv(args ...string) result {
	var out, errOut strings.Builder
	code := run(h.ctx, args, strings.NewReader(h.stdin), &out, &errOut, func(name string) string { return h.env[name] })
	return result{code, out.String(), errOut.String()}
}

// quickApp is a world in which a waiting verb asks often.
func quickApp(t *testing.T, home, stdin string, stdout io.Writer) *app {
	return &app{
		ctx: t.Context(), stdin: strings.NewReader(stdin), stdout: stdout, stderr: io.Discard, now: time.Now,
		getenv: func(name string) string { return map[string]string{"SCV_HOME": home}[name] },
		pace:   pace{keepAlive: 10 * time.Millisecond, catchUp: 10 * time.Millisecond, watch: 10 * time.Millisecond},
	}
}
