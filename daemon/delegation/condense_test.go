package delegation

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"scv/store"
)

// lastLine keeps of an output its last whole line.
func lastLine(out io.Reader) ([]byte, error) {
	all, err := io.ReadAll(out)
	lines := bytes.SplitAfter(bytes.TrimSuffix(all, []byte("\n")), []byte("\n"))
	return append(bytes.TrimSuffix(lines[len(lines)-1], []byte("\n")), '\n'), err
}

// condensing starts a line of shell whose output lastLine condenses.
func (w *world) condensing(handle, line string) *Run {
	w.t.Helper()
	run := agentRun(w.k, handle, w.home, nil)
	run.Path, run.Args, run.Condense = "/bin/sh", []string{"-c", line}, lastLine
	run.Env = append(run.Env, "PATH="+os.Getenv("PATH"))
	r, err := w.k.Start(within(w.t), handle, placed(w.k), run)
	must(w.t, err)
	return r
}

func (w *world) reopen() {
	w.open(func(o *Options) {
		o.Condenser = func(name string) func(io.Reader) ([]byte, error) {
			if name != placed(w.k).Agent {
				return nil
			}
			return lastLine
		}
	})
}

const million = `yes noise | head -c 999996; `

// What an answer is made of may stand at the end of a long output: it is what is kept.
func TestCondensedOutput(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want string
		most int64 // bytes left of out, 0: there is none by its name
		lost bool  // after a restart
	}{
		"long":                  {million + `echo answer`, "answer\n", 10, false},
		"short":                 {`echo noise; echo answer`, "answer\n", 20, false},
		"printed nothing":       {`:`, "\n", 0, false},
		"a folder in its place": {`d=$(dirname $(readlink /proc/$$/fd/1)); rm $d/out; mkdir $d/out $d/out.new; ` + million + `echo answer`, "answer\n", 0, true},
		"no folder any more":    {`rm -r $(dirname $(readlink /proc/$$/fd/1)); ` + million + `echo answer`, "answer\n", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := w.condensing("fake-000001", c.line)
			done(t, r)
			info, err := os.Stat(w.file("runs/fake-000001/out"))
			if err == nil && info.Mode().IsRegular() && info.Size() > c.most {
				t.Errorf("%d bytes are left", info.Size())
			}
			if size(r.printed.printed()) > KeptOutput {
				t.Errorf("%d bytes are held", size(r.printed.printed()))
			}
			if !c.lost && exists(w.file("runs/fake-000001/out.new")) {
				t.Error("what was made aside is left")
			}
			result, err := r.Result(3)
			if err != nil || string(result.Output) != c.want || result.Truncated {
				t.Errorf("%q, more %v, %v", result.Output, result.Truncated, err)
			}
			w.reopen()
			_, result, err = w.k.Ended("fake-000001", 3)
			if (err != nil) != c.lost || err == nil && string(result.Output) != c.want {
				t.Errorf("after a restart: %q, %v", result.Output, err)
			}
			must(t, w.k.Reported(within(t), "fake-000001"))
		})
	}
}

// A crash at any moment of it leaves the whole output or what is kept of it.
func TestCondensingCutByACrash(t *testing.T) {
	w := newWorld(t)
	r := w.condensing("fake-000001", `yes noise | head -c 996; echo answer`)
	done(t, r)
	w.reopen()
	whole, err := os.ReadFile(w.file("runs/fake-000001/out"))
	must(t, err)
	for name, out := range map[string][2]string{
		"before":              {string(whole), ""},
		"while it is written": {string(whole), "ans"},
		"before the new name": {string(whole), "answer\n"},
		"after":               {"answer\n", ""},
	} {
		must(t, os.WriteFile(w.file("runs/fake-000001/out"), []byte(out[0]), 0o600))
		must(t, os.WriteFile(w.file("runs/fake-000001/out.new"), []byte(out[1]), 0o600))
		_, result, err := w.k.Ended("fake-000001", 3)
		if err != nil || string(result.Output) != "answer\n" {
			t.Errorf("%s: %q, %v", name, result.Output, err)
		}
	}
	must(t, w.k.Reported(within(t), "fake-000001"))
}

// A disk that takes nothing leaves the whole output, which is read instead.
func TestCondensingOnAFullDisk(t *testing.T) {
	folder := t.TempDir()
	o, err := createOutput(folder)
	must(t, err)
	defer o.close()
	_, err = o.out.Write(append(bytes.Repeat([]byte("noise\n"), 20_000), "answer\n"...))
	must(t, err)
	os.Getenv(string(make([]byte, 8<<10))) // go test notes what a test looks at; its buffer must not run full just now
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	none := old
	none.Cur = 0
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &none))
	err = o.shrink(lastLine)
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
	if err == nil {
		t.Error("nobody was told")
	}
	if out, _, err := o.answer(lastLine, 3); err != nil || string(out) != "answer\n" {
		t.Errorf("%q, %v", out, err)
	}
	must(t, o.shrink(lastLine))
	if out, _, err := o.answer(lastLine, 3); err != nil || string(out) != "answer\n" || size(o.out) != 7 {
		t.Errorf("later: %q of %d bytes, %v", out, size(o.out), err)
	}
}

// What cannot be condensed stays, and nobody waits for the answer of a run that was stopped.
func TestCondensingThatFails(t *testing.T) {
	w := newWorld(t)
	broken := errors.New("broken")
	run := agentRun(w.k, "fake-000001", w.home, nil)
	run.Path, run.Args = "/bin/sh", []string{"-c", million + `echo answer`}
	run.Env = append(run.Env, "PATH="+os.Getenv("PATH"))
	run.Condense = func(io.Reader) ([]byte, error) { return nil, broken }
	r, err := w.k.Start(within(t), "fake-000001", placed(w.k), run)
	must(t, err)
	done(t, r)
	if _, err := r.Result(3); !errors.Is(err, broken) || size(r.printed.printed()) < 999_996 {
		t.Errorf("%v, %d bytes are left", err, size(r.printed.printed()))
	}
	must(t, w.k.Reported(within(t), "fake-000001"))

	stopped := w.condensing("fake-000002", million+`echo; echo >printed; sleep 60`)
	until(t, "the output", func() bool { return exists(w.file("printed")) })
	must(t, stopped.Stop(within(t), "by the test"))
	if n := size(stopped.printed.printed()); n != KeptOutput {
		t.Errorf("%d bytes are left of a stopped run", n)
	}
	must(t, w.k.Reported(within(t), "fake-000002"))
}

// A run of an agent that condenses nothing is read as before.
func TestCondenserOfNobody(t *testing.T) {
	w := newWorld(t)
	w.reopen()
	must(t, w.k.put(within(t), "other-000001", store.Delegation{Agent: "other", State: store.RunEnded}))
	must(t, os.MkdirAll(w.file("runs/other-000001"), 0o700))
	must(t, os.WriteFile(w.file("runs/other-000001/out"), []byte("answer"), 0o600))
	if _, result, err := w.k.Ended("other-000001", 3); err != nil || string(result.Output) != "ans" || !result.Truncated {
		t.Errorf("%q, %v", result.Output, err)
	}
	must(t, w.k.Reported(within(t), "other-000001"))
}
