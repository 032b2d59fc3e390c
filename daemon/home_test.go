package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenHomeAdvice: closing a folder is right for a home of ours and harmful for any other.
func TestOpenHomeAdvice(t *testing.T) {
	for name, want := range map[string]string{"daemon.lock": "chmod 700 it", "passwd": "a folder of its own", "": "chmod 700 it"} {
		home := filepath.Join(t.TempDir(), "home")
		if err := os.Mkdir(home, 0o700); err != nil {
			t.Fatal(err)
		}
		if name != "" {
			if err := os.WriteFile(filepath.Join(home, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(home, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenHome(home); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %q in it: %v, want %q", name, err, want)
		}
	}
}
