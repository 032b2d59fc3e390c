package agent

import (
	"os"
	"testing"

	"scv/internal/testexe"
)

func TestMain(m *testing.M) {
	testexe.Run()
	os.Exit(m.Run())
}
