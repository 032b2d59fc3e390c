package process

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const headlessVariable = "SCV_TEST_HEADLESS" // the file for the pid

// The first thread has ended, others run on: the process table shows a zombie, but it is alive, and
// Stop must not take it for gone.
func TestAProcessOutlivesItsFirstThread(t *testing.T) {
	if file := os.Getenv(headlessVariable); file != "" {
		endFirstThread()
		if err := os.WriteFile(file+".new", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
		time.Sleep(forever * time.Millisecond)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "headless")
	c, err := table.Spawn(Spec{
		Path: self, Args: []string{"-test.run=^" + t.Name() + "$"}, Env: []string{headlessVariable + "=" + file, "TMPDIR=" + t.TempDir()},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := pidIn(t, file)
	p, ok := scan(t).Find(id)
	if !ok || p.State != 'Z' || p.Threads < 2 {
		t.Errorf("not the case that is to be tested: %+v", p)
	}
	if p.Zombie() || !id.Alive() {
		t.Error("taken for a zombie")
	}
	if chain, _ := ancestry(id.PID); len(chain) == 0 || chain[0].EnvReadable {
		t.Errorf("its environment is gone with the thread, facts say it is empty: %+v", chain)
	}
	stop(t, Run{Leader: c.ID(), Group: c.ID().PID})
	if exit := wait(t, c); exit.Signal != "SIGTERM" {
		t.Errorf("ended by %+v", exit)
	}
}

// endFirstThread keeps taking threads until it has the first one, and ends that.
func endFirstThread() {
	gone := make(chan struct{})
	var take func()
	take = func() {
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			go take()
			select {} // keeps this thread from the next one
		}
		close(gone)
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0) // the thread only, not the process
	}
	go take()
	<-gone
	for { // closed is not yet ended
		if p, _, err := readStat(os.Getpid()); err == nil && p.State == 'Z' {
			return
		}
		runtime.Gosched()
	}
}
