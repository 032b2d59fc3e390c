package store

import (
	"errors"
	"fmt"
	"strconv"

	"scv/wire"
)

// readRecord reads a record of a table: the form of its key, its bytes, and what the table's judge says.
func readRecord[T any](t *Table, key, raw []byte) (any, error) {
	if raw == nil {
		return nil, errors.New("it is a bucket, not a record")
	}
	rec, err := decode[T](raw)
	if err != nil {
		return nil, err
	}
	if err := t.admit(key, rec); err != nil {
		return nil, err
	}
	return rec, nil
}

// admit is what both a record that is written and one that is read must pass.
func (t *Table) admit(key []byte, rec any) error {
	if !t.form.check(key) {
		return fmt.Errorf("its key is not of the form %s", t.Key)
	}
	if t.judge == nil {
		return nil
	}
	return t.judge(string(key), rec)
}

// judging makes a table's judge of a function of its record type.
func judging[T any](judge func(key string, rec T) error) func(string, any) error {
	return func(key string, rec any) error { return judge(key, rec.(T)) }
}

// readMeta reads the two values of the meta bucket.
func readMeta(_ *Table, key, raw []byte) (any, error) {
	switch string(key) {
	case "schema":
		return strconv.Atoi(string(raw))
	case "about":
		return decode[about](raw)
	}
	return nil, errors.New("its key is unknown")
}

// The judges keep a damaged word from being acted on: a pid, a grant, a state.

func checkAccountRecord(_ string, a Account) error {
	switch {
	case a.RemoteTools != wire.ToolsNone && a.RemoteTools != wire.ToolsOwner:
		return errors.New("its remote_tools is unknown")
	case a.Senders != wire.SendersOwner && a.Senders != wire.SendersAnyone:
		return errors.New("its senders is unknown")
	}
	return nil
}

func checkDelegationRecord(_ string, d Delegation) error {
	switch d.State {
	case RunStarting, RunEnded:
	case RunLive:
		if d.Leader.PID <= 1 || d.Leader.Start == 0 || d.Leader.Boot == "" {
			return errors.New("its leader is no process")
		}
	default:
		return errors.New("its state is unknown")
	}
	for _, tie := range d.Ties {
		if tie.PID <= 1 {
			return errors.New("one of its ties is no process")
		}
	}
	return nil
}

func checkReport(_ string, r RunReport) error {
	switch r.Outcome {
	case wire.RunFinished, wire.RunFailed, wire.RunKilled, wire.RunLost:
	case wire.RunRunning:
		return errors.New("its outcome is not final")
	default:
		return errors.New("its outcome is unknown")
	}
	if r.Ended.Zero() { // its retention counts from there
		return errors.New("it has no time of its end")
	}
	return nil
}

func checkRestart(key string, r Restart) error {
	switch r.Step {
	case RestartWaiting, RestartSwitching, RestartProving, RestartDone:
	default:
		return errors.New("its step is unknown")
	}
	if (r.Step == RestartDone) == (key == planKey) || key != planKey && key != r.ID {
		return errors.New("its key does not go with its step")
	}
	return nil
}

func checkOpenConfirm(key string, c Confirm) error {
	if c.State != wire.Pending {
		return errors.New("its state is not pending")
	}
	return checkConfirm(key, c)
}

func checkEndedConfirm(key string, c Confirm) error {
	if !c.State.Final() {
		return errors.New("its state is not final")
	}
	if c.Ended.Zero() { // its retention counts from there
		return errors.New("it has no time of its end")
	}
	return checkConfirm(key, c)
}

func checkConfirm(key string, c Confirm) error {
	switch c.State {
	case wire.Pending, wire.Yes, wire.No, wire.Expired, wire.Withdrawn, wire.NotAsked:
	default:
		return errors.New("its state is unknown")
	}
	if c.ID != key || c.ID == "" {
		return errors.New("its id is not its key")
	}
	return nil
}
