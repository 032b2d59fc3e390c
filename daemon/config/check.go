package config

import (
	"log/slog"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Bounds of what a person may write.
const (
	maxDepth      = 16
	maxConcurrent = 64
	minSpan       = 10 * time.Millisecond
	maxSpan       = 7 * 24 * time.Hour
)

var (
	agentName   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)
	accountName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) // docs/rules.md §3
	variable    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// ValidName reports whether a channel or an account may be called so.
func ValidName(name string) bool { return accountName.MatchString(name) }

// ValidAgentName reports whether an agent may be called so.
func ValidAgentName(name string) bool { return agentName.MatchString(name) }

func convert(f file, at lines) (Config, error) {
	c := Default()
	for _, part := range []func(file, *Config, lines) error{
		workspace, agents, notify, counts, level, spans,
	} {
		if err := part(f, &c, at); err != nil {
			return Config{}, err
		}
	}
	return c, nil
}

func workspace(f file, c *Config, at lines) error {
	if f.Workspace == nil {
		return nil
	}
	switch w := *f.Workspace; {
	case w == "":
		return at.wrong("workspace", "it is empty; leave the key out for <home>/workspace")
	case strings.ContainsRune(w, 0):
		return at.wrong("workspace", "it contains a NUL")
	case w == "~" || strings.HasPrefix(w, "~/"):
		return at.wrong("workspace", "~ is not expanded here: write the whole path, as \"/home/me/code\"")
	case strings.HasPrefix(w, "$"):
		return at.wrong("workspace", "variables are not expanded here: write the whole path, as \"/home/me/code\"")
	case !filepath.IsAbs(w):
		return at.wrong("workspace", "it is not an absolute path, as \"/home/me/code\"")
	}
	c.Workspace = filepath.Clean(*f.Workspace)
	return nil
}

func agents(f file, c *Config, at lines) error {
	for _, name := range slices.Sorted(maps.Keys(f.Agents)) {
		key := "agents." + name
		if !ValidAgentName(name) {
			return at.wrong(key, "a name has 1 to 32 letters, digits, _ and -")
		}
		a := Agent{Command: f.Agents[name].Command, Prompt: "stdin", Env: f.Agents[name].Env}
		if p := f.Agents[name].Prompt; p != nil {
			a.Prompt = *p
		}
		if a.Prompt != "stdin" && a.Prompt != "arg" {
			return at.wrong(key+".prompt", `it is "stdin" or "arg"`)
		}
		if why := badCommand(a.Command); why != "" {
			return at.wrong(key+".command", "%s", why)
		}
		for _, v := range a.Env {
			if !variable.MatchString(v) || strings.HasPrefix(v, "SCV_") {
				return at.wrong(key+".env", "it lists names of environment variables, none of them SCV_*")
			}
		}
		c.Agents[name] = a
	}
	return nil
}

// commandExample shows how a command is written.
const commandExample = `as ["claude", "-p"]`

func badCommand(command []string) string {
	switch {
	case len(command) == 0:
		return "it lists the program and its arguments, " + commandExample
	case command[0] == "":
		return "the program, its first word, is empty; it is " + commandExample
	case strings.ContainsRune(strings.Join(command, ""), 0):
		return "it contains a NUL"
	case strings.ContainsRune(command[0], '/') && !filepath.IsAbs(command[0]):
		return "the program is a name on PATH or an absolute path"
	}
	return ""
}

func notify(f file, c *Config, at lines) error {
	for _, id := range f.Notify.Owner {
		channel, account, ok := strings.Cut(id, ":")
		if !ok || !ValidName(channel) || !ValidName(account) {
			return at.wrong("notify.owner", `it lists accounts as "local:default"`)
		}
		if slices.Contains(c.Notify.Owner, id) {
			return at.wrong("notify.owner", "it lists an account twice")
		}
		c.Notify.Owner = append(c.Notify.Owner, id)
	}
	return nil
}

func counts(f file, c *Config, at lines) error {
	for _, n := range []struct {
		key      string
		value    *int
		into     *int
		min, max int
	}{
		{"delegations.max_depth", f.Delegations.MaxDepth, &c.Delegations.MaxDepth, 0, maxDepth},
		{"turns.concurrent", f.Turns.Concurrent, &c.Turns.Concurrent, 1, maxConcurrent},
	} {
		if n.value == nil {
			continue
		}
		if *n.value < n.min || *n.value > n.max {
			return at.wrong(n.key, "it is a number from %d to %d", n.min, n.max)
		}
		*n.into = *n.value
	}
	return nil
}

func level(f file, c *Config, at lines) error {
	if f.Log.Level == nil {
		return nil
	}
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	l, ok := levels[*f.Log.Level]
	if !ok {
		return at.wrong("log.level", "it is debug, info, warn or error")
	}
	c.Log.Level = l
	return nil
}

func spans(f file, c *Config, at lines) error {
	for _, s := range []struct {
		key   string
		value *string
		into  *time.Duration
	}{
		{"turns.owner", f.Turns.Owner, &c.Turns.Owner},
		{"turns.others", f.Turns.Others, &c.Turns.Others},
		{"timing.reconcile", f.Timing.Reconcile, &c.Timing.Reconcile},
		{"timing.stop_grace", f.Timing.StopGrace, &c.Timing.StopGrace},
		{"timing.backoff_min", f.Timing.BackoffMin, &c.Timing.BackoffMin},
		{"timing.backoff_max", f.Timing.BackoffMax, &c.Timing.BackoffMax},
		{"timing.stable_after", f.Timing.StableAfter, &c.Timing.StableAfter},
	} {
		if s.value == nil {
			continue
		}
		d, err := time.ParseDuration(*s.value)
		if err != nil || d < minSpan || d > maxSpan {
			return at.wrong(s.key, `it is a time with its unit, as "1s" or "4h5m", from %v to %v`, minSpan, maxSpan)
		}
		*s.into = d
	}
	if c.Timing.BackoffMin > c.Timing.BackoffMax {
		return at.wrong("timing.backoff_min", "it is longer than timing.backoff_max")
	}
	return nil
}
