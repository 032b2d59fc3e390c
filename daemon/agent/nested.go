package agent

import (
	"fmt"
	"os"
)

// newNested makes another SCV an agent: its command `scv agent` speaks the protocol for the local chat of
// the home that is configured. What it is told is a message of that chat's owner.
func newNested(p *perTurn) *acpAgent {
	p.useCommand("scv")
	a := newACP(p)
	a.nested = true
	return a
}

// checkHome refuses a home that is not there. The daemon that is started for a task would make it, and a
// slip of the pen in config.toml would become an empty SCV that answers nothing.
func (p *perTurn) checkHome() error {
	if p.conf.Driver != "scv" {
		return nil
	}
	if info, err := os.Stat(p.conf.Home); err != nil || !info.IsDir() {
		return fmt.Errorf("%w: %q is no folder; correct home in [agents.%s] of config.toml, or begin that SCV: scv --home %q run",
			ErrNoHome, p.conf.Home, p.name, p.conf.Home)
	}
	return nil
}

// Ready is why an agent cannot be run on this machine: ErrNotFound or ErrNoHome with what to do; nil where it can.
func Ready(a Agent) error {
	if p, ok := a.(interface{ ready() error }); ok {
		return p.ready()
	}
	return nil
}

func (p *perTurn) ready() error {
	if _, err := p.find(); err != nil {
		return err
	}
	return p.checkHome()
}
