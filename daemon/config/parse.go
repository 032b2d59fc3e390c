package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// file is config.toml as it is written; nil is absent.
type file struct {
	Workspace *string              `toml:"workspace"`
	Agents    map[string]agentFile `toml:"agents"`
	Notify    struct {
		Owner []string `toml:"owner"`
	} `toml:"notify"`
	Delegations struct {
		MaxDepth *int `toml:"max_depth"`
	} `toml:"delegations"`
	Turns struct {
		Owner      *string `toml:"owner"`
		Others     *string `toml:"others"`
		Concurrent *int    `toml:"concurrent"`
		Progress   *string `toml:"progress"`
	} `toml:"turns"`
	Media struct {
		OwnerMax       *int `toml:"owner_max_mib"`
		OthersImageMax *int `toml:"others_image_max_mib"`
		KeepDays       *int `toml:"keep_days"`
	} `toml:"media"`
	Log struct {
		Level *string `toml:"level"`
	} `toml:"log"`
	Timing struct {
		Reconcile   *string `toml:"reconcile"`
		StopGrace   *string `toml:"stop_grace"`
		BackoffMin  *string `toml:"backoff_min"`
		BackoffMax  *string `toml:"backoff_max"`
		StableAfter *string `toml:"stable_after"`
		IdleClose   *string `toml:"idle_close"`
	} `toml:"timing"`
	Feishu struct {
		StandIn *string `toml:"stand_in"`
	} `toml:"feishu"`
}

type agentFile struct {
	Driver  *string  `toml:"driver"`
	Command []string `toml:"command"`
	Prompt  *string  `toml:"prompt"`
	Env     []string `toml:"env"`
	Home    *string  `toml:"home"`
}

func parse(data []byte) (Config, error) {
	var f file
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return Config{}, explain(err)
	}
	at := places(data)
	if err := at.checkCase(); err != nil {
		return Config{}, err
	}
	return convert(f, at)
}

// explain makes one sentence of the decoder's error. None of them quotes a value.
func explain(err error) error {
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(missing.Errors) > 0 {
		e := missing.Errors[0]
		line, _ := e.Position()
		return fmt.Errorf("line %d: the key %q is unknown", line, dotted(e.Key()))
	}
	e, ok := errors.AsType[*toml.DecodeError](err)
	if !ok {
		return err
	}
	line, _ := e.Position()
	what := strings.TrimPrefix(e.Error(), "toml: ")
	if kind, _, ok := strings.Cut(strings.TrimPrefix(what, "cannot decode TOML "), " into "); ok {
		what = "it cannot be of the type " + kind
	}
	if len(e.Key()) == 0 {
		return fmt.Errorf("line %d: %s", line, what)
	}
	if k := e.Key(); len(k) == 3 && k[0] == "agents" && k[2] == "command" {
		what = `it is a list, the program and each argument in quotes of their own, as ["sh", "-c", "..."]`
	}
	return fmt.Errorf("line %d: the value of %q is wrong: %s", line, dotted(e.Key()), what)
}

func dotted(key []string) string { return strings.Join(key, ".") }

// lines says where each key stands.
type lines map[string]int

// places finds the keys of a file that is known to be valid.
func places(data []byte) lines {
	at := lines{}
	var p unstable.Parser
	p.Reset(data)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.KeyValue {
			at.add(&p, table, e)
			continue
		}
		key, line := parts(&p, e)
		table = key
		at[dotted(table)] = line
	}
	return at
}

// add notes a key and, when its value is an inline table, the keys in it.
func (at lines) add(p *unstable.Parser, under []string, e *unstable.Node) {
	key, line := parts(p, e)
	key = append(under[:len(under):len(under)], key...)
	at[dotted(key)] = line
	if v := e.Value(); v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			at.add(p, key, it.Node())
		}
	}
}

func parts(p *unstable.Parser, e *unstable.Node) (key []string, line int) {
	it := e.Key()
	for it.Next() {
		if line == 0 {
			line = p.Shape(it.Node().Raw).Start.Line
		}
		key = append(key, string(it.Node().Data))
	}
	return key, line
}

// checkCase refuses keys that differ from ours in case only: the decoder would take them, and of two such
// keys the last.
func (at lines) checkCase() error {
	for key, line := range at {
		parts := strings.Split(key, ".")
		for i, part := range parts {
			if i == 1 && parts[0] == "agents" {
				continue // a name
			}
			if part != strings.ToLower(part) {
				return fmt.Errorf("line %d: the key %q is unknown: keys are lower-case", line, key)
			}
		}
	}
	return nil
}

// wrong is an error about a key's value.
func (at lines) wrong(key, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	line, where := 0, key
	for line == 0 && where != "" {
		line = at[where]
		where = where[:max(strings.LastIndexByte(where, '.'), 0)]
	}
	return fmt.Errorf("line %d: the value of %q is wrong: %s", line, key, what)
}
