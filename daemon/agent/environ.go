package agent

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// allowed is what every agent gets of the daemon's environment (docs/rules.md §4).
var allowed = []string{"HOME", "USER", "LOGNAME", "PATH", "SHELL", "LANG", "TERM", "TZ", "TMPDIR"}

// ours is never passed on: who may tell the service manager that the daemon is well, and what only the
// record of a run may say.
func ours(key string) bool {
	return strings.HasPrefix(key, "SCV_") || strings.HasPrefix(key, "WATCHDOG_") || key == "NOTIFY_SOCKET" ||
		strings.HasPrefix(key, "LISTEN_")
}

// Environment is the whole environment of an agent: the allowed part of the daemon's own, the variables
// named in keep, and set, which wins. It is sorted and has each name once.
func Environment(daemonEnv, keep []string, set map[string]string) []string {
	values := make(map[string]string, len(set)+len(allowed))
	for _, kv := range daemonEnv {
		key, value, ok := strings.Cut(kv, "=")
		if ok && key != "" && !ours(key) && (inherits(key) || slices.Contains(keep, key)) {
			values[key] = value
		}
	}
	maps.Copy(values, set)
	env := make([]string, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		env = append(env, key+"="+values[key])
	}
	return env
}

func inherits(key string) bool {
	return slices.Contains(allowed, key) ||
		strings.HasPrefix(key, "LC_") || strings.HasPrefix(key, "XDG_") ||
		strings.HasSuffix(strings.ToUpper(key), "_PROXY")
}

// LookPath finds programs for somebody with the given environment: an absolute path as it is, a bare name
// in the absolute folders of its PATH. A relative path would depend on where the daemon was started.
func LookPath(environ []string) func(name string) (string, error) {
	var folders []string
	for _, kv := range environ {
		if list, ok := strings.CutPrefix(kv, "PATH="); ok {
			folders = filepath.SplitList(list)
		}
	}
	return func(name string) (string, error) {
		if filepath.IsAbs(name) {
			return name, executable(name)
		}
		if name == "" || strings.ContainsRune(name, filepath.Separator) {
			return "", fmt.Errorf("%q is neither a name nor an absolute path", name)
		}
		for _, folder := range folders {
			path := filepath.Join(folder, name)
			if filepath.IsAbs(folder) && executable(path) == nil {
				return path, nil
			}
		}
		return "", fmt.Errorf("no program %q in the daemon's PATH", name)
	}
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || unix.Access(path, unix.X_OK) != nil {
		return fmt.Errorf("%q is not a program we may run", path)
	}
	return nil
}
