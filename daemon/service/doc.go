// Package service is what SCV knows of the service manager that keeps it running: systemd, or launchd on macOS.
// The daemon comes in to say how it is (notify.go, pulse.go) and to start what must not share its fate
// (outside.go); the hand comes in to install a unit and to start, stop and restart it (unit.go, manager.go).
// Both managers are driven by their own programs, found on the PATH, and each call has a limit.
package service
