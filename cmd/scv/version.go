package main

type versionCmd struct {
	JSON bool `help:"Print version, commit, store schema and wire level."`
}

func (c *versionCmd) Run(a *app) error {
	b := thisBuild()
	if c.JSON {
		return a.printJSON(b)
	}
	a.say("scv %s (commit %s, store schema %d, wire level %d)", b.Version, b.Commit, b.Schema, b.Wire)
	return nil
}
