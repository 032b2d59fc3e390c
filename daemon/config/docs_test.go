package config

import (
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestEveryKeyIsDocumented: docs/config.md has a row for each key that is read and for no other, the default
// that holds, and an example that works.
func TestEveryKeyIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .+ \\| (.+) \\|$").FindAllStringSubmatch(string(text), -1) {
		rows[row[1]] = row[2]
	}
	_, example, _ := strings.Cut(string(text), "```toml\n")
	example, _, _ = strings.Cut(example, "```")
	if _, err := Load(home(t, example)); err != nil {
		t.Error(err)
	}
	shown := map[string]bool{}
	for key := range places([]byte(example)) {
		shown[regexp.MustCompile(`^agents\.\w+`).ReplaceAllString(key, "agents.NAME")] = true
	}
	held := defaults()
	for _, key := range keysBelow(reflect.TypeFor[file](), "") {
		found, there := rows[key]
		if !there {
			t.Errorf("docs/config.md has no row for %s", key)
		}
		if !shown[key] {
			t.Errorf("docs/config.md has no example of %s", key)
		}
		if want := held[key]; want != "" && found != "`"+want+"`" {
			t.Errorf("docs/config.md: the default of %s is %s, not %s", key, want, found)
		}
		delete(rows, key)
		delete(held, key)
	}
	if len(rows) > 0 || len(held) > 0 {
		t.Errorf("there is no such key: %v %v", rows, held)
	}
}

// keysBelow are the keys of a table and of those in it.
func keysBelow(table reflect.Type, prefix string) (keys []string) {
	for name, kind := range keysOf(table) {
		switch key := prefix + name; kind.Kind() {
		case reflect.Struct:
			keys = append(keys, keysBelow(kind, key+".")...)
		case reflect.Map:
			keys = append(keys, keysBelow(kind.Elem(), key+".NAME.")...)
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

// defaults are those that are numbers and times, as they are written.
func defaults() map[string]string {
	c := Default()
	return map[string]string{
		"delegations.max_depth": strconv.Itoa(c.Delegations.MaxDepth), "turns.concurrent": strconv.Itoa(c.Turns.Concurrent),
		"turns.owner": written(c.Turns.Owner), "turns.others": written(c.Turns.Others), "turns.progress": written(c.Turns.Progress),
		"timing.reconcile": written(c.Timing.Reconcile), "timing.stop_grace": written(c.Timing.StopGrace),
		"timing.backoff_min": written(c.Timing.BackoffMin), "timing.backoff_max": written(c.Timing.BackoffMax),
		"timing.stable_after": written(c.Timing.StableAfter), "timing.idle_close": written(c.Timing.IdleClose),
		"log.level": `"` + strings.ToLower(c.Log.Level.String()) + `"`,
	}
}

func written(d time.Duration) string {
	return `"` + regexp.MustCompile(`([hm])0[ms].*$`).ReplaceAllString(d.String(), "$1") + `"`
}
