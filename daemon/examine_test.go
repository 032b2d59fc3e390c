package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/clock"
	"scv/store"
)

// A child that comes to its end without a word is no proof of damage: the store must not be taken for
// damaged because a machine was too busy to listen.
func TestSilentLookIsNoDamage(t *testing.T) {
	for program, damage := range map[string]bool{"/bin/true": false, "/bin/false": true} {
		report, err := ExamineApart(t.Context(), program, "scv.db", false)
		if got := report.Damage != ""; got != damage || (err == nil) != damage {
			t.Errorf("%s: %+v, %v", program, report, err)
		}
		if err != nil && !strings.Contains(err.Error(), "did not arrive") {
			t.Errorf("%s: %v", program, err)
		}
	}
}

// A look through a copy of the store goes on while what ran away from agents is searched for, and is none of that:
// stopped, it would pass for a store that ends whoever reads it.
func TestALookIsNoRunaway(t *testing.T) {
	d := startInProcess(t, newHome(t, ""), clock.NewVirtual())
	defer d.stop()
	begun, goOn := filepath.Join(t.TempDir(), "begun"), filepath.Join(t.TempDir(), "go on")
	d.o.Program = filepath.Join(t.TempDir(), "scv")
	script := fmt.Sprintf("#!/bin/sh\n: >'%s'\nuntil [ -e '%s' ]; do sleep 0.01; done\necho '{}'\n", begun, goOn)
	if err := os.WriteFile(d.o.Program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	err := d.store.Observe(t.Context(), func(tx *store.Observation) error { // an ended run, for which a pass looks
		return tx.PutDelegation("echo-aaaaaa", store.Delegation{State: store.RunEnded, Cwd: "/", Started: d.clock.Now()})
	})
	if err != nil {
		t.Fatal(err)
	}
	looked := make(chan error, 1)
	go func() { looked <- d.verify(t.Context(), "scv.db") }()
	await(t, "the look", func() bool { _, err := os.Stat(begun); return err == nil }, func() string { return "" })
	d.runs.Pass(t.Context())
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-looked; err != nil {
		t.Errorf("the copy is not taken for sound: %v", err)
	}
}
