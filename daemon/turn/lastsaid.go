package turn

import (
	"bytes"
	"strings"

	"scv/daemon/agent"
	"scv/daemon/delegation"
	"scv/store"
)

// maxLastSaid bounds what a failure repeats of an agent's stderr, in bytes (docs/rules.md §10).
const maxLastSaid = 1 << 10

// lastSaid ends the report of a failed run with the end of its stderr, without which nobody finds out why
// an agent does not work. It can hold anything that the agent may see, so it is for nobody but the owner
// who let it use tools, and never for the log.
func (e *Engine) lastSaid(row store.ClaimRow, result delegation.Result) string {
	settings, err := e.settings(row.Account)
	if err != nil || !granted(row, settings) {
		return ""
	}
	text := lastLines(result.Errors)
	if text == "" {
		return ""
	}
	return "\n\nIt last said:\n" + text
}

// lastLines cleans the end of an output like an answer and cuts it, both between lines if there are any.
func lastLines(end []byte) string {
	if _, rest, ok := bytes.Cut(end, []byte{'\n'}); ok && len(end) >= delegation.KeptErrors {
		end = rest // the first line is not whole
	}
	text := agent.Clean(string(end))
	if len(text) <= maxLastSaid {
		return text
	}
	text = text[len(text)-maxLastSaid:]
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		return rest
	}
	return strings.ToValidUTF8(text, "")
}
