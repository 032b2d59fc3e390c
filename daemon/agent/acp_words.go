package agent

import (
	"errors"
	"fmt"

	"github.com/coder/acp-go-sdk"
)

// Why a live agent gives no reply, as the end of a sentence.
var (
	errACPEnded   = errors.New("it ended in the middle of its turn")
	errACPSlow    = errors.New("it was not ready in time. Does its command speak the Agent Client Protocol?")
	errACPNoise   = errors.New("it prints something else than messages. Does its command speak the Agent Client Protocol?")
	errACPLine    = fmt.Errorf("it sent a message of more than %d MiB", acpLine>>20)
	errACPDeaf    = errors.New("it does not read what it is told")
	errACPStuck   = errors.New("it did not end its turn when it was told to")
	errACPBusy    = errors.New("it is in the middle of another turn")
	errACPNoID    = errors.New("it gave its conversation no name")
	errACPRefused = errors.New("it refused to go on")
	errACPTokens  = errors.New("it reached its limit of tokens before it had said anything")
	errACPSteps   = errors.New("it reached its limit of steps before it had said anything")
	errACPLogin   = errors.New("it wants to be logged in: start it once in a terminal and log in there")
)

// What is put to a reply.
const (
	acpCut       = "\n[cut here: the answer was longer than 64 KiB]"
	acpOutTokens = "\n[the agent ended here: it reached its limit of tokens]"
	acpOutSteps  = "\n[the agent ended here: it reached its limit of steps]"
	acpForgot    = "[the agent could not take up the earlier conversation, and began a new one]\n\n"
)

// SaidError is an error that comes with words of the agent's own. They are for nobody but the owner who
// let it use tools, and never for the log.
type SaidError struct {
	Err  error
	Said string // clean
}

func (e *SaidError) Error() string { return e.Err.Error() }

// Unwrap makes the error behind it be found.
func (e *SaidError) Unwrap() error { return e.Err }

// acpAuthRequired is the protocol's code for an agent that nobody is logged in to.
const acpAuthRequired = -32000

// acpRefusal makes words of the error that an agent answered with.
func acpRefusal(refusal *acp.RequestError) error {
	err := fmt.Errorf("it answered with error %d", refusal.Code)
	if refusal.Code == acpAuthRequired {
		err = errACPLogin
	}
	said := refusal.Message
	if details, ok := refusal.Data.(map[string]any); ok {
		for _, key := range []string{"details", "message", "error"} {
			if text, ok := details[key].(string); ok && text != "" {
				said += ": " + text
				break
			}
		}
	} else if text, ok := refusal.Data.(string); ok {
		said += ": " + text
	}
	return &SaidError{Err: err, Said: Clean(said)}
}
