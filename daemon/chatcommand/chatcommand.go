// Package chatcommand is what an owner can write to SCV itself in a chat, and how SCV answers that. It is pure:
// the inbox reads the words, the daemon brings the facts, and turns have the effects. Nobody else needs it.
package chatcommand

import "strings"

// Command is a word to SCV itself.
type Command string

const (
	New    Command = "/new"    // in its order: the agent forgets the conversation
	Status Command = "/status" // at once
	Stop   Command = "/stop"   // at once: what is being answered is stopped
	Help   Command = "/help"   // at once
)

// Read is the command that a text is, "" for any other text. Nothing may stand beside it: a sentence with a
// command in it is for the agent.
func Read(text string) Command {
	switch c := Command(strings.ToLower(strings.TrimSpace(text))); c {
	case New, Status, Stop, Help:
		return c
	}
	return ""
}
