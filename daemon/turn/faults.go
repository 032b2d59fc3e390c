package turn

import (
	"sync"
	"time"

	"scv/internal/clock"
)

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
