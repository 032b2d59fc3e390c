package chatcommand

import (
	"fmt"
	"strings"
	"time"
)

// Renewed answers /new.
const Renewed = "The agent begins anew here and knows nothing of what was said before."

// HelpText answers /help. The words are those that answer a question.
func HelpText(yes, no []string) string {
	return "To SCV itself you can write, alone in a message:\n" +
		"/new – the agent forgets this conversation\n" +
		"/status – accounts, what is at work here, open questions\n" +
		"/stop – stops the message that is being answered here\n" +
		"/help – this list\n" +
		"Everything else goes to the agent.\n\n" +
		"A question is answered with\n" +
		"yes: " + strings.Join(yes, " ") + "\n" +
		"no: " + strings.Join(no, " ") + "\n" +
		"and with its code, as in \"yes 3f\", where several are open."
}

// Work is what a conversation is at.
type Work struct {
	Busy    bool          // a message is being answered, or is the next
	Stopped bool          // the owner has said /stop to it
	Agent   string        // that answers it, "" before that has begun
	Handle  string        // of its run, "" before that has begun
	Since   time.Duration // ago it was received
	Waiting int           // messages behind it
}

// StopText answers /stop, by what was at work when it came.
func (w Work) StopText() string {
	switch {
	case !w.Busy:
		return "Nothing is at work here."
	case w.Stopped:
		return "It is being stopped already." + w.behind()
	case w.Handle == "":
		return "Your message had not been begun yet; it will not be." + w.behind()
	}
	return "Stopping " + w.Agent + " (" + w.Handle + "), with all that it has started." + w.behind()
}

func (w Work) behind() string {
	switch w.Waiting {
	case 0:
		return ""
	case 1:
		return " One message behind it is answered next."
	}
	return fmt.Sprintf(" %d messages behind it are answered next.", w.Waiting)
}

func (w Work) line() string {
	text := "Here: nothing is at work"
	switch {
	case !w.Busy:
	case w.Stopped:
		text = "Here: " + w.who() + " is being stopped"
	case w.Handle == "":
		text = "Here: your message waits for its turn"
	default:
		text = "Here: " + w.who() + " answers a message that came " + ago(w.Since)
	}
	if w.Waiting > 0 {
		text += fmt.Sprintf("; %d more to answer", w.Waiting)
	}
	return text
}

func (w Work) who() string {
	if w.Handle == "" {
		return "a message"
	}
	return w.Agent + " (" + w.Handle + ")"
}

func ago(d time.Duration) string {
	if d < time.Minute {
		return "just now"
	}
	return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s") + " ago"
}

// Facts is what /status tells.
type Facts struct {
	Version   string
	Accounts  []Account
	Here      Work
	Elsewhere int      // runs of agents for others than this conversation
	Questions []string // open in this chat, by code and first words
	Others    int      // open elsewhere
}

// Account is one account and how it fares.
type Account struct {
	ID, State string
	Problem   string // what its owner can do, or ""
}

// maxAccounts is how many accounts /status names: it is read on a phone.
const maxAccounts = 8

// StatusText answers /status. Accounts that have nothing to tell are left out first.
func StatusText(f Facts) string {
	lines := []string{"SCV " + f.Version}
	shown, quiet := 0, 0
	for _, troubled := range []bool{true, false} {
		for _, a := range f.Accounts {
			switch {
			case (a.Problem != "") != troubled:
			case shown == maxAccounts:
				quiet++
			default:
				shown++
				lines = append(lines, a.line())
			}
		}
	}
	if quiet > 0 {
		lines = append(lines, fmt.Sprintf("and %d accounts more", quiet))
	}
	lines = append(lines, f.Here.line())
	if f.Elsewhere > 0 {
		lines = append(lines, fmt.Sprintf("Elsewhere: %d at work", f.Elsewhere))
	}
	return strings.Join(append(lines, f.questions()), "\n")
}

func (a Account) line() string {
	if a.Problem == "" {
		return a.ID + ": " + a.State
	}
	return a.ID + ": " + a.State + " – " + a.Problem
}

func (f Facts) questions() string {
	text := "No open questions here"
	if len(f.Questions) > 0 {
		text = "Open questions here: " + strings.Join(f.Questions, ", ")
	}
	if f.Others > 0 {
		text += fmt.Sprintf("; elsewhere %d", f.Others)
	}
	return text
}
