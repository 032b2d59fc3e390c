package main

import (
	"os/exec"
	"runtime"
	"syscall"
)

// starts are calls for the thread that starts daemons.
var starts = make(chan func())

// startThread is that thread until end is called. A daemon that was built, and so knows nothing of tests, is sent
// SIGTERM when the thread that started it ends: when the tests end, also by a SIGKILL. Any other thread of ours can
// end before.
func startThread() (end func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: it ends with us
		for start := range starts {
			start()
		}
	}()
	return func() { close(starts); <-done }
}

// startTied starts a program that is told to end when the tests do.
func startTied(cmd *exec.Cmd) (err error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	started := make(chan struct{})
	starts <- func() {
		defer close(started)
		err = cmd.Start()
	}
	<-started
	return err
}
