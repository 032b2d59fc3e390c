package turn

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An agent fills the disk by what it prints. Its own reply finds room all the same.
func TestAgentFillsTheDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small disk")
	}
	home := t.TempDir()
	must(t, unix.Mount("tmpfs", home, "tmpfs", 0, "size=4194304,mode=0700"))
	t.Cleanup(func() { must(t, unix.Unmount(home, unix.MNT_DETACH)) }) // a reply that was never stored keeps files open
	w := newWorldIn(t, home)
	w.agents = shell(`cat >/dev/null; yes out; yes err >&2; exit 0`)
	w.run()
	w.claim("c", "hello")
	if text := w.says("reply"); !strings.HasPrefix(text, "out\nout\n") || !strings.HasSuffix(text, "[cut here: the answer was longer than 64 KiB]") {
		t.Errorf("says %d bytes: %.100q", len(text), text)
	}
}
