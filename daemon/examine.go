package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"scv/daemon/process"
	"scv/store"
)

// examineWait bounds a look through a store. A hang is found much earlier, by the time that the child
// may spend on a processor; this is for a disk that does not answer.
const examineWait = time.Minute

// ExamineApart has program, which is scv, look through a store file that nobody holds, if asked through
// its records too. A child that dies of the file, or never comes to its end, has found damage.
func ExamineApart(ctx context.Context, program, path string, records bool) (r store.Report, err error) {
	spec := process.Spec{Path: program, Args: []string{"store", "examine", path}}
	if records {
		spec.Args = append(spec.Args, "--records")
	}
	out, exit, err := process.NewTable().Output(ctx, spec, examineWait)
	if err != nil {
		return r, fmt.Errorf("cannot look through the store %q: %w", path, err)
	}
	if err := json.Unmarshal(out, &r); err != nil {
		if exit.Code == 0 { // it came to its end, so the file did it no harm
			return r, fmt.Errorf("cannot look through the store %q: what was found did not arrive: %w", path, err)
		}
		how := fmt.Sprintf("exit code %d", exit.Code)
		if exit.Signal != "" {
			how = exit.Signal
		}
		return store.Report{Damage: fmt.Sprintf("%q ended the process that looked through it (%s)", path, how)}, nil
	}
	return r, r.Failed()
}
