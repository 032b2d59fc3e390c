package restart

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func lendingFolder(t *testing.T) Folder {
	t.Helper()
	f := In(t.TempDir())
	if err := os.Mkdir(f.path, 0o700); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestLend: a guard gets the whole environment, however large, and keeps what says which unit it is. No file is left,
// and none ever holds a word of it.
func TestLend(t *testing.T) {
	f := lendingFolder(t)
	large := "LARGE=" + strings.Repeat("x", 300<<10)
	got := make(chan []string, 1)
	over, err := f.lend([]string{"KEY=secret", large, "INVOCATION_ID=daemon", "EMPTY="}, func() error {
		go func() { got <- f.borrow([]string{"PATH=/bin", "INVOCATION_ID=guard"}) }()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if b := <-got; !slices.Equal(b, []string{"KEY=secret", large, "EMPTY=", "INVOCATION_ID=guard"}) {
		t.Errorf("%d variables: %.200q", len(b), b)
	}
	over()
	if _, err := os.Lstat(f.join(fileLent)); !os.IsNotExist(err) {
		t.Errorf("the pipe is left: %v", err)
	}
}

// TestBorrowWithoutALender: a daemon that died between the two, a file that is no pipe, and no offer at all.
func TestBorrowWithoutALender(t *testing.T) {
	own := []string{"PATH=/bin"}
	f := lendingFolder(t)
	if got := f.borrow(own); !slices.Equal(got, own) {
		t.Errorf("without an offer: %q", got)
	}
	if err := os.WriteFile(f.join(fileLent), []byte("KEY=forged"+lentEnd), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := f.borrow(own); !slices.Equal(got, own) {
		t.Errorf("from a file: %q", got)
	}
	over, err := f.lend([]string{"KEY=secret"}, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	pipe := f.join(fileLent)
	if err := os.Rename(pipe, pipe+".kept"); err != nil { // what a daemon that is killed leaves
		t.Fatal(err)
	}
	over()
	if err := os.Rename(pipe+".kept", pipe); err != nil {
		t.Fatal(err)
	}
	if got := f.borrow(own); !slices.Equal(got, own) {
		t.Errorf("from a pipe without a lender: %q", got)
	}
}
