package turn

import (
	"fmt"
	"strings"

	"scv/daemon/agent"
	"scv/store"
	"scv/wire"
)

// interrupted is the whole report of a turn that a stop, a crash or a reboot cut.
func (e *Engine) interrupted(row store.ClaimRow, handle string) string {
	why := e.o.WhyCut(handle)
	if why == "" {
		why = e.o.Runs.WhyLost(handle)
	}
	if row.Claim.Job != nil {
		return why + " It is not started again by itself."
	}
	return why + " Your message" + quoted(row.Claim.Text) + " was being answered: the work was cut off and is " +
		"not started again by itself. Please send the message again if you still want it."
}

// maxQuoted is how much of a message a notice repeats, in characters: enough to tell it from others.
const maxQuoted = 60

// quoted is the beginning of a message on one line, after a blank; "" for one without words.
func quoted(text string) string {
	words := []rune(agent.Clean(strings.Join(strings.Fields(text), " ")))
	switch {
	case len(words) == 0:
		return ""
	case len(words) > maxQuoted:
		words = append(words[:maxQuoted], '…')
	}
	return " «" + string(words) + "»"
}

// words is why there is no answer, as the chat reads it.
type words string

func (w words) Error() string { return string(w) }

func say(format string, args ...any) error { return words(fmt.Sprintf(format, args...)) }

// prepare finds the agent and its task, or says in words for the chat why there is none.
func (e *Engine) prepare(row store.ClaimRow) (agent.Task, agent.Agent, error) {
	if row.Claim.Job != nil {
		return e.jobTask(row)
	}
	settings, err := e.settings(row.Account)
	if err != nil {
		return agent.Task{}, nil, err
	}
	a, err := e.choose(row.Account, settings)
	if err != nil {
		return agent.Task{}, nil, err
	}
	folder, err := e.o.Workspace(settings)
	if err != nil {
		return agent.Task{}, nil, err
	}
	tools := granted(row, settings)
	if row.Claim.Owner && !tools && !agent.ToolFree(a) {
		return agent.Task{}, nil, say("Tools are not granted to this chat, and %s has no mode without them. "+
			"To grant them: scv channels set %s --remote-tools owner", a.Name(), row.Account)
	}
	return agent.Task{
		Prompt: row.Claim.Text, Tools: tools, Owner: row.Claim.Owner, Workspace: folder,
	}, a, nil
}

// granted reports whether the turn has tools.
func granted(row store.ClaimRow, settings store.Account) bool {
	return row.Claim.Owner && settings.RemoteTools == wire.ToolsOwner
}

func (e *Engine) settings(account string) (s store.Account, err error) {
	var known bool
	err = e.o.Store.View(func(v *store.View) error {
		s, known = v.Account(account)
		return nil
	})
	if err != nil || !known {
		e.o.Log.Error("cannot read the settings of an account", "account", account, "err", err)
		return s, words("The settings of this account cannot be read. scv status says more.")
	}
	return s, nil
}

// choose is the account's own agent, or else the only one configured.
func (e *Engine) choose(account string, settings store.Account) (agent.Agent, error) {
	agents := e.o.Agents()
	if settings.Agent != "" {
		if a, known := agents.Get(settings.Agent); known {
			return a, nil
		}
		return nil, say("This chat is set to the agent %q, which config.toml does not have. "+
			"Add it there and run scv reload, or choose another: scv channels set %s --agent NAME", settings.Agent, account)
	}
	if name, only := agents.Only(); only {
		a, _ := agents.Get(name)
		return a, nil
	}
	if names := agents.Names(); len(names) > 0 {
		return nil, say("Several agents are configured (%s). Choose one: scv channels set %s --agent NAME",
			strings.Join(names, ", "), account)
	}
	return nil, words(howToConfigure(e.o.Found()))
}

// howToConfigure is the reply where there is no agent at all.
func howToConfigure(found []agent.Found) string {
	text := "No agent is configured yet, so nobody can answer. Add one to config.toml in scv's home and run scv reload."
	for _, f := range found {
		if f.Path != "" {
			text += "\n\n" + f.Title + " is on this machine. To use it:\n" + f.Snippet
		}
	}
	if !strings.Contains(text, "[agents.") {
		text += "\n\nAny command that reads a prompt and prints an answer will do:\n" +
			"[agents.NAME]\ncommand = [\"PROGRAM\", \"ARGUMENT\"]\nprompt = \"stdin\"\n" +
			"\nClaude Code (claude) and Codex (codex) are two that scv knows; neither is on its PATH."
	}
	return text
}
