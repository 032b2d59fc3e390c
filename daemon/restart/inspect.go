package restart

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"scv/daemon/process"
	"scv/internal/failpoint"
)

// inspectLimit is for a program that may hang: it is asked what it is before it is trusted.
const inspectLimit = 10 * time.Second

// Inspect asks a private copy of what is installed at binary what it is, so that nothing can come between the
// question and its hash. Its error is a refusal that wraps the cause.
func (f Folder) Inspect(ctx context.Context, binary string, procs *process.Table) (r Release, err error) {
	if err := failpoint.Hit(failpoint.RestartAsk); err != nil {
		return r, refused(err, "the installed program cannot be looked at now; try again")
	}
	if err = os.Mkdir(f.path, 0o700); errors.Is(err, fs.ErrExist) {
		err = nil
	}
	folder := ""
	if err == nil {
		folder, err = os.MkdirTemp(f.path, "ask-*")
	}
	if err != nil {
		return r, refused(err, "the installed program cannot be copied into the home to look at it")
	}
	defer func() { _ = os.RemoveAll(folder) }() // what is left goes with the next hand-over
	program := filepath.Join(folder, "scv")
	if r.SHA256, err = CopyProgram(binary, program); err != nil {
		if about := new(fs.PathError); errors.As(err, &about) && about.Path != binary { // it is the copy that fails
			return r, refused(err, "the installed program cannot be copied into the home to look at it")
		}
		return r, refused(err, "no program can be read at %s: install one there first", binary)
	}
	if err := unix.Access(binary, unix.X_OK); err != nil { // the copy may be, and that would come out too late
		return r, refused(err, "the program at %s may not be executed: set its permission first", binary)
	}
	out, exit, err := procs.Output(ctx, process.Spec{
		Path: program, Args: []string{"build-info"}, Dir: folder, Env: []string{"HOME=" + folder},
	}, inspectLimit)
	var said struct {
		Version string `json:"version"`
		Commit  string `json:"commit"`
		Schema  uint64 `json:"schema"`
	}
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("exit code %d %s", exit.Code, exit.Signal)
	}
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil || !isName(said.Version) || said.Commit != "" && !isName(said.Commit) || said.Schema == 0 {
		return r, refused(err, "what is installed at %s does not run, or is no scv: it was asked for its build-info", binary)
	}
	r.Version, r.Commit, r.Schema = said.Version, said.Commit, said.Schema
	return r, nil
}

// isName reports whether a release may be called so in a line for people.
func isName(s string) bool {
	const most = 128 // bytes
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	return s != "" && len(s) <= most && strings.IndexFunc(s, odd) < 0
}

// refused is a refusal for who asked, with its cause for the log.
func refused(cause error, format string, args ...any) error {
	return &refusal{refuse(format, args...), cause}
}

type refusal struct{ said, cause error }

func (r *refusal) Error() string   { return fmt.Sprintf("%v (%v)", r.said, r.cause) }
func (r *refusal) Unwrap() []error { return []error{r.said, r.cause} }
