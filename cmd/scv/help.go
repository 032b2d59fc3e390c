package main

import "errors"

// helpCmd is for those who type help first.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command, as channels set."`
}

// listsAlone is the help of a group that has a list.
func listsAlone(group string) string {
	return "Alone it lists, and takes the flags of scv " + group + " list."
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
