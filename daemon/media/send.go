package media

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"scv/internal/failpoint"
)

// Copy is where the copy of an answer's n-th file is. The error says that there is none: the record of an answer
// may be damaged, and nothing but an ordinary file of ours, of the size that was collected, is ever sent.
func (f Folders) Copy(account, answer string, n int, size int64) (string, error) {
	if !element(answer) || n < 0 {
		return "", fmt.Errorf("%q names no answer", answer)
	}
	path := filepath.Join(f.of(sending, account), answer, strconv.Itoa(n))
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%q is no ordinary file", path)
	case info.Size() != size:
		return "", fmt.Errorf("%q has %d bytes, not %d", path, info.Size(), size)
	}
	return path, nil
}

// Done removes the copies of an answer that is delivered or given up.
func (f Folders) Done(account, answer string) error {
	if !element(answer) {
		return nil
	}
	if err := failpoint.Hit(failpoint.MediaRemove); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(f.of(sending, account), answer))
}
