package main

const storeSchema = 1

type storeCmds struct {
	Dump dumpX `cmd:""`
}
type dumpX struct{}

func (c *dumpX) Run(a *app) error { return nil }
