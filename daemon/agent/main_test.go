package agent

import (
	"os"
	"testing"

	"scv/internal/testexe"
)

func TestMain(m *testing.M) {
	testexe.Run()
	code := m.Run()
	testexe.Tidy()
	os.Exit(code)
}
