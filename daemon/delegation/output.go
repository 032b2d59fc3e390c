package delegation

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// output is what a run prints, held open. The agent runs as our user and may replace its files by others
// while it works; what is open stays what it was started with, and cannot hold up who reads it.
type output struct {
	folder string
	errs   *os.File

	mu  sync.Mutex
	out *os.File // another one once it is condensed
}

var errNotRegular = errors.New("it is no regular file any more")

func createOutput(folder string) (*output, error) {
	out, err := createFile(filepath.Join(folder, "out"))
	if err != nil {
		return nil, err
	}
	errs, err := createFile(filepath.Join(folder, "err"))
	if err != nil {
		out.Close()
		return nil, err
	}
	return &output{folder: folder, out: out, errs: errs}, nil
}

func createFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot make output file %q: %w", path, err)
	}
	return f, nil
}

// openOutput opens what a run of an earlier daemon printed. There is an answer without err.
func openOutput(folder string) (*output, error) {
	out, err := openLeft(filepath.Join(folder, "out"), os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("cannot open output of a run: %w", err)
	}
	o := &output{folder: folder, out: out}
	if errs, err := openLeft(filepath.Join(folder, "err"), os.O_RDONLY); err == nil {
		o.errs = errs
	}
	return o, nil
}

// read is at most limit bytes of out, and whether there was more. It moves no offset: the agent's
// processes share that.
func (o *output) read(limit int64) (out []byte, more bool, err error) {
	out, err = io.ReadAll(io.NewSectionReader(o.printed(), 0, limit+1))
	if err != nil {
		return nil, false, fmt.Errorf("cannot read output of a run: %w", err)
	}
	if int64(len(out)) > limit {
		return out[:limit], true, nil
	}
	return out, false, nil
}

// since is what out holds from an offset on, at most the last limit bytes of that, and where it ends.
func (o *output) since(from, limit int64) (text []byte, end int64) {
	out := o.printed()
	end = size(out)
	from = max(from, end-limit)
	text, err := io.ReadAll(io.NewSectionReader(out, from, max(end-from, 0)))
	if err != nil { // it is being replaced by what is kept of it
		return nil, from
	}
	return text, end
}

// tail is the end of err, or nothing if it cannot be read: an answer is not lost for that.
func (o *output) tail() []byte {
	from := max(0, size(o.errs)-KeptErrors)
	b, err := io.ReadAll(io.NewSectionReader(o.errs, from, KeptErrors))
	if err != nil {
		return nil
	}
	return b
}

// printed is out as it stands.
func (o *output) printed() *os.File {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out
}

// shrink gives the disk back what is never read: of out all but what condense keeps, or the beginning
// without it. Of err it frees all before it writes the end again: on a full disk nothing else is sure to
// work.
func (o *output) shrink(condense condenser) error {
	if size(o.printed()) > KeptOutput {
		if err := o.shrinkOut(condense); err != nil {
			return fmt.Errorf("cannot shrink output of a run: %w", err)
		}
	}
	if size(o.errs) <= KeptErrors {
		return nil
	}
	end := o.tail()
	err := o.errs.Truncate(0)
	if err == nil {
		_, err = o.errs.WriteAt(end, 0)
	}
	if err != nil {
		return fmt.Errorf("cannot shrink errors of a run: %w", err)
	}
	return nil
}

// largest is the size of the larger file.
func (o *output) largest() int64 { return max(size(o.printed()), size(o.errs)) }

// size is 0 for a file that is closed or was never opened.
func size(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

func (o *output) close() {
	o.printed().Close()
	o.errs.Close()
}
