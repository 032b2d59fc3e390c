//go:build !linux

package main

import "os/exec"

func startThread() (end func()) { return func() {} }

// startTied starts a program. What it would be tied by exists on Linux alone.
func startTied(cmd *exec.Cmd) error { return cmd.Start() }
