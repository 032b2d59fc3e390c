package delegation

import (
	"io"
	"os"
	"path/filepath"

	"scv/internal/failpoint"
)

// condenser copies of an output what its agent's answer is made of; see agent.Run. Applied to its own
// result it changes nothing.
type condenser func(out io.Reader) ([]byte, error)

// condensed is the answer's part of out. What an agent printed beyond the limit of an output is left out
// at its beginning: an answer comes last.
func (o *output) condensed(condense condenser) ([]byte, error) {
	out := o.printed()
	end := size(out)
	from := max(0, end-maxOutput)
	return condense(io.NewSectionReader(out, from, end-from))
}

// shrinkOut makes out small.
func (o *output) shrinkOut(condense condenser) error {
	if condense == nil {
		return o.printed().Truncate(KeptOutput)
	}
	kept, err := o.condensed(condense)
	if err != nil {
		return err // it stays as it is: that can still be read
	}
	if err := o.replace(kept); err == nil {
		return nil
	}
	// The disk may be too full for both, or something of the agent's stands in the way. What is written over
	// takes no new room. A crash in the middle would lose the answer.
	out := o.printed()
	if _, err := out.WriteAt(kept, 0); err != nil {
		return err
	}
	return out.Truncate(int64(len(kept)))
}

// replace puts a new file in the place of out. Until then the old one can be read, whenever we die.
func (o *output) replace(kept []byte) error {
	path := filepath.Join(o.folder, "out")
	if err := os.RemoveAll(path + ".new"); err != nil {
		return err
	}
	f, err := createFile(path + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(kept)
	if err == nil {
		err = f.Sync() // the new name must not come to lead to an empty file
	}
	if err == nil {
		err = failpoint.Hit(failpoint.RunFiles)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		f.Close()
		_ = os.Remove(path + ".new")
		return err
	}
	o.mu.Lock()
	old := o.out
	o.out = f
	o.mu.Unlock()
	return old.Close()
}

// answer is what of out the agent's answer is made of: all that condense keeps, or the first limit bytes.
func (o *output) answer(condense condenser, limit int64) (out []byte, more bool, err error) {
	if condense == nil {
		return o.read(limit)
	}
	out, err = o.condensed(condense)
	return out, false, err
}
