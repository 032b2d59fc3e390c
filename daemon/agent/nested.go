package agent

// newNested makes another SCV an agent: its command `scv agent` speaks the protocol for the local chat of
// the home that is configured. What it is told is a message of that chat's owner.
func newNested(p *perTurn) *acpAgent {
	p.useCommand("scv")
	a := newACP(p)
	a.nested = true
	return a
}
