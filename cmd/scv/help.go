package main

import "errors"

// helpCmd is for those who type help first.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command, as channels set."`
}

// Run shows what --help after the command does. Nothing runs on its exit code, so that of confirm
// (dispatch in cli.go) is not needed here.
func (c *helpCmd) Run(a *app) error {
	err := dispatch(a, append(c.Command[:len(c.Command):len(c.Command)], "--help"))
	var quiet ended
	if errors.As(err, &quiet) {
		return nil
	}
	return err
}
