package delegation

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/testexe"
	"scv/store"
)

// shell starts an agent that is a line of shell.
func (w *world) shell(handle, line string) *Run {
	w.t.Helper()
	run := agentRun(w.k, handle, w.home, nil)
	run.Path, run.Args = "/bin/sh", []string{"-c", line}
	run.Env = append(run.Env, "PATH="+os.Getenv("PATH"))
	r, err := w.k.Start(within(w.t), handle, placed(w.k), run)
	must(w.t, err)
	return r
}

// promptly fails the test when fn waits for something that never comes.
func promptly(t *testing.T, fn func()) {
	t.Helper()
	returned := make(chan struct{})
	go func() { defer close(returned); fn() }()
	select {
	case <-returned:
	case <-time.After(limit):
		t.Fatal("it hangs")
	}
}

// An agent replaces the files that it prints to: the daemon reads what it was given, and waits for nothing.
func TestAgentReplacesItsOutput(t *testing.T) {
	for name, line := range map[string]string{
		"a pipe":  `rm $d/out $d/err; mkfifo $d/out $d/err`,
		"a link":  `ln -sf /etc/passwd $d/out`,
		"folders": `rm $d/out $d/err; mkdir $d/out $d/err`,
		"nothing": `rm -r $d`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := w.shell("fake-000001", `d=$(dirname $(readlink /proc/$$/fd/1)); `+line+`; echo the answer; echo oops >&2`)
			done(t, r)
			promptly(t, func() {
				result, err := r.Result(100)
				if err != nil || string(result.Output) != "the answer\n" || string(result.Errors) != "oops\n" {
					t.Errorf("output %q, errors %q, %v", result.Output, result.Errors, err)
				}
			})
			promptly(t, func() {
				if err := w.k.Kill(within(t), "fake-000001"); err != nil {
					t.Error(err)
				}
			})
			w.open() // a restart: only the files are left
			promptly(t, func() {
				if _, result, err := w.k.Ended("fake-000001", 100); err == nil || errors.Is(err, ErrNotEnded) {
					t.Errorf("output %q, %v", result.Output, err)
				}
			})
			must(t, w.k.Reported(within(t), "fake-000001"))
			if exists(w.file("runs/fake-000001")) {
				t.Error("its folder is left")
			}
		})
	}
}

// Only what a report needs is still there before anything is committed, also when it is read after a restart.
func TestOutputIsShrunk(t *testing.T) {
	w := newWorld(t)
	size := func(name string) int64 {
		info, err := os.Stat(w.file("runs/fake-000001/" + name))
		must(t, err)
		return info.Size()
	}
	looked := false
	w.step = func(name string) {
		if name != "gone" {
			return
		}
		looked = true
		if out, errs := size("out"), size("err"); out > KeptOutput || errs > KeptErrors {
			t.Errorf("out %d, err %d", out, errs)
		}
	}
	r := w.shell("fake-000001", `yes out | head -c 1000000; yes err | head -c 1000000 >&2; echo the end >&2`)
	done(t, r)
	check := func(result Result, err error) {
		t.Helper()
		if err != nil || !result.Truncated || len(result.Output) != KeptOutput-1 || !bytes.HasPrefix(result.Output, []byte("out\n")) ||
			len(result.Errors) != KeptErrors || !bytes.HasSuffix(result.Errors, []byte("err\nthe end\n")) {
			t.Errorf("%d bytes of output, more %v; errors end with %.20q; %v", len(result.Output), result.Truncated, result.Errors[max(0, len(result.Errors)-20):], err)
		}
	}
	check(r.Result(KeptOutput - 1))
	w.open()
	_, result, err := w.k.Ended("fake-000001", KeptOutput-1)
	check(result, err)
	if !looked {
		t.Error("nobody looked before the commit")
	}
}

// What a removed file takes of the disk counts too.
func TestRemovedOutputIsBounded(t *testing.T) {
	w := newWorld(t)
	w.open(func(o *Options) { o.maxOutput = 1 << 20 })
	r := w.shell("fake-000001", `rm $(readlink /proc/$$/fd/1); yes | head -c 2000000; sleep 60`)
	done(t, r)
	if why := r.Stopped(); why != "because it printed more than 1 MiB" {
		t.Errorf("stopped: %q", why)
	}
}

// An orphan's output is of no use to anybody, and could keep the report of its end from the disk.
func TestOutputOfAnOrphanIsRemoved(t *testing.T) {
	w := newWorld(t)
	w.owner("", "fake-000001")
	settle := w.claim("fake-000001")
	w.passes()
	if _, known := w.record("fake-000001"); !known || exists(w.file("runs/fake-000001")) {
		t.Errorf("on record %v, output there %v", known, exists(w.file("runs/fake-000001")))
	}
	settle()
	w.passes()
}

// What a run's life is told of in the log: no text of anybody.
func TestRunsAreLogged(t *testing.T) {
	w := newWorld(t)
	var logs bytes.Buffer
	w.open(func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&logs, nil)) })
	r := w.start("fake-000001", testexe.Step{Echo: true}, testexe.Step{PrintErr: "a secret"}, testexe.Step{Exit: testexe.Code(3)})
	done(t, r)
	text := logs.String()
	for _, says := range []string{`msg="run started" handle=fake-000001 agent=fake pid=`, `msg="run ended" handle=fake-000001 exit_code=3 took=`} {
		if !strings.Contains(text, says) {
			t.Errorf("%s lacks %s", text, says)
		}
	}
	if strings.Contains(text, "secret") || strings.Contains(text, "task") {
		t.Errorf("it tells: %s", text)
	}
	logs.Reset()
	r = w.start("fake-000002", testexe.Step{SleepMillis: forever})
	kill(t, w.k, "fake-000002")
	done(t, r)
	if text := logs.String(); !strings.Contains(text, `msg="run ended" handle=fake-000002 stopped="on request"`) {
		t.Errorf("logged: %s", text)
	}
}

// A record that says how a run ended, and files that an agent left in place of its output.
func TestEndedReadsNoPipe(t *testing.T) {
	w := newWorld(t)
	d := about
	d.State = store.RunEnded
	w.put("fake-000001", d)
	must(t, os.MkdirAll(w.file("runs/fake-000001"), 0o700))
	must(t, os.WriteFile(w.file("runs/fake-000001/out"), []byte("the answer\n"), 0o600))
	must(t, unix.Mkfifo(w.file("runs/fake-000001/err"), 0o600))
	promptly(t, func() {
		_, result, err := w.k.Ended("fake-000001", 100)
		if err != nil || string(result.Output) != "the answer\n" || len(result.Errors) > 0 {
			t.Errorf("output %q, errors %q, %v", result.Output, result.Errors, err)
		}
	})
}

// A device is no output either, though it could be read.
func TestEndedReadsNoDevice(t *testing.T) {
	w := newWorld(t)
	d := about
	d.State = store.RunEnded
	w.put("fake-000001", d)
	must(t, os.MkdirAll(w.file("runs/fake-000001"), 0o700))
	if err := unix.Mknod(w.file("runs/fake-000001/out"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))); err != nil {
		t.Skip("cannot make a device: ", err)
	}
	if _, result, err := w.k.Ended("fake-000001", 100); err == nil {
		t.Errorf("%d bytes of output", len(result.Output))
	}
}
