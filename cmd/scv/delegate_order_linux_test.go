package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/wire"
)

// The agent of scv delegate is not told its task before the daemon has its process on record: while the
// daemon has not answered, the agent waits for its input.
func TestNoTaskBeforeTheRecord(t *testing.T) {
	f := newFake(t)
	told := filepath.Join(f.home, "told")
	config := fmt.Sprintf("[agents.echo]\ncommand = [\"sh\", \"-c\", \"exec tee '%s'\"]\n", told)
	if err := os.WriteFile(filepath.Join(f.home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	recorded := make(chan error, 1)
	f.script(wire.SubjectDelegationRegister, func(data []byte) (any, error) {
		var ask wire.DelegationRegister
		if err := json.Unmarshal(data, &ask); err != nil {
			return nil, err
		}
		if ask.PID != nil {
			recorded <- waitsForInput(*ask.PID, told)
		}
		return wire.DelegationLease{Parent: instanceID(f.home) + "/delegate/" + ask.Handle, Depth: 1, Tools: true}, nil
	})
	f.script(wire.SubjectDelegationUpdate, func([]byte) (any, error) {
		return wire.DelegationReport{Outcome: wire.RunFinished}, nil
	})
	o := delegate(t, f.home, "echo", "hello")
	if err := o.cmd.Wait(); err != nil || o.out.String() != "hello" {
		t.Errorf("%v: %q, %s", err, o.out, o.errs)
	}
	select {
	case err := <-recorded:
		if err != nil {
			t.Error(err)
		}
	default:
		t.Error("its process was never put on record")
	}
}

// waitsForInput waits until the tee of a process sleeps, which it does only with nothing to read. It must have
// written nothing by then.
func waitsForInput(pid uint32, told string) error {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return fmt.Errorf("the agent has ended: %w", err)
		}
		info, err := os.Stat(told)
		switch {
		case err == nil && info.Size() > 0:
			return errors.New("the agent was told its task")
		case err == nil && strings.Contains(string(stat), "(tee) S "):
			return nil
		case strings.Contains(string(stat), "(tee) Z "):
			return errors.New("the agent has ended")
		}
	}
	return errors.New("the agent does not come to read its task")
}
