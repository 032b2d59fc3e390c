//go:build !linux

package process

import (
	"errors"
	"syscall"
)

var errNoCgroups = errors.New("this system has no cgroups")

// FindCgroups fails: there are none.
func FindCgroups() (Cgroups, error) { return "", errNoCgroups }

// LookForCgroups fails likewise.
func LookForCgroups(int) (Cgroups, error) { return "", errNoCgroups }

// Handles is nobody.
func (Cgroups) Handles(string) ([]string, error) { return nil, nil }

// CgroupOf is none.
func CgroupOf(int, string, string) Cgroup { return Cgroup{} }

func cgroupsAround(int) ([]Cgroup, bool) { return nil, false }

func (Cgroup) ours() bool      { return false }
func (Cgroup) kill() error     { return errNoCgroups }
func (Cgroup) populated() bool { return false }
func (Cgroup) remove() error   { return nil }

// place is where a child is put: with us.
type place struct{ cgroup Cgroup }

func enter(Cgroup) *place { return &place{} }

func (*place) entered() bool { return false }

func (*place) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func (*place) leave() {}
func (*place) close() {}
