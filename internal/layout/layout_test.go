package layout_test

import (
	"testing"

	"scv/internal/layout"
)

// The id is part of the tags of running agents and of the socket's folder: it must never change.
func TestInstanceIsFixed(t *testing.T) {
	if got := layout.Instance("/srv/scv"); got != "8973cbc5" {
		t.Errorf("instance %s, want 8973cbc5", got)
	}
}
