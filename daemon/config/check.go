package config

import (
	"log/slog"
	"net/netip"
	"path/filepath"
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

// ValidName reports whether a channel or an account may be called so (docs/rules.md §3).
func ValidName(name string) bool { return isName(name, 64) }

// ValidAgentName reports whether an agent may be called so.
func ValidAgentName(name string) bool { return isName(name, 32) }

func isName(s string, most int) bool {
	return s != "" && len(s) <= most && strings.IndexFunc(s, func(r rune) bool { return !inWord(r) && r != '-' }) < 0
}

func isVariable(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && strings.IndexFunc(s, func(r rune) bool { return !inWord(r) }) < 0
}

func inWord(r rune) bool {
	return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_'
}

func convert(f file, at lines) (Config, error) {
	c := Default()
	for _, part := range []func(file, *Config, lines) error{
		workspace, agents, notify, counts, level, spans, progress, standIns,
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
	case unexpanded(w) != "":
		return at.wrong("workspace", "%s: write the whole path, as \"/home/me/code\"", unexpanded(w))
	case !filepath.IsAbs(w):
		return at.wrong("workspace", "it is not an absolute path, as \"/home/me/code\"")
	}
	c.Workspace = filepath.Clean(*f.Workspace)
	return nil
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

// standIns let nothing but this machine take the place of a platform: whoever does is told secrets.
func standIns(f file, c *Config, at lines) error {
	for _, p := range []struct {
		key  string
		said *string
		into *string
	}{{"feishu.stand_in", f.Feishu.StandIn, &c.Feishu.StandIn}, {"wechat.stand_in", f.WeChat.StandIn, &c.WeChat.StandIn}} {
		if p.said == nil {
			continue
		}
		host, found := strings.CutPrefix(*p.said, "http://")
		if to, err := netip.ParseAddrPort(host); !found || err != nil || !to.Addr().IsLoopback() {
			return at.wrong(p.key, `it is http:// with a loopback address and a port, as "http://127.0.0.1:8080"`)
		}
		*p.into = *p.said
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

// never is for what a person wants to be without.
const never = "never"

func progress(f file, c *Config, at lines) error {
	switch text := f.Turns.Progress; {
	case text == nil:
	case *text == never:
		c.Turns.Progress = 0
	default:
		d, err := time.ParseDuration(*text)
		if err != nil || d < minSpan || d > maxSpan {
			return at.wrong("turns.progress", `it is "never", or a time with its unit, as "15s", from %v to %v`, minSpan, maxSpan)
		}
		c.Turns.Progress = d
	}
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
		{"timing.idle_close", f.Timing.IdleClose, &c.Timing.IdleClose},
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
