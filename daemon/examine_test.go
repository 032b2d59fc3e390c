package daemon

import (
	"strings"
	"testing"
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
