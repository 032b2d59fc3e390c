package turn

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"scv/daemon/agent"
	"scv/daemon/delegation"
	"scv/internal/clock"
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

// faultsEvery is how often a fault that lasts is logged: what is tried each second would fill the log.
const faultsEvery = time.Minute

// faults remembers when which line was last logged.
type faults struct {
	mu   sync.Mutex
	last map[string]clock.Stamp
}

// due reports whether a line may be logged now.
func (f *faults) due(line string, now clock.Stamp) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, logged := f.last[line]; logged && now.Since(last) < faultsEvery {
		return false
	}
	if f.last == nil {
		f.last = map[string]clock.Stamp{}
	}
	f.last[line] = now
	return true
}

// fault logs what the store refused to an account, the first time and then once a minute.
func (e *Engine) fault(what, account string, err error) {
	if e.faults.due(what+" "+account, e.o.Clock.Now()) {
		e.o.Log.Error(what, "account", account, "err", err)
	}
}
