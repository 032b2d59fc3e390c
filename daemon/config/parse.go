package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

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
	Feishu platformFile `toml:"feishu"`
	WeChat platformFile `toml:"wechat"`
}

type platformFile struct {
	StandIn *string `toml:"stand_in"`
}

type agentFile struct {
	Driver  *string  `toml:"driver"`
	Command []string `toml:"command"`
	Prompt  *string  `toml:"prompt"`
	Env     []string `toml:"env"`
	Home    *string  `toml:"home"`
}

// mark begins a file that some editors save as UTF-8. It says nothing.
const mark = "\uFEFF"

func parse(data []byte) (Config, error) {
	data = bytes.TrimPrefix(data, []byte(mark))
	var f file
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return Config{}, explain(err, data)
	}
	at := places(data)
	if err := at.checkCase(); err != nil {
		return Config{}, err
	}
	return convert(f, at)
}

// explain makes one sentence of the decoder's error. None of them quotes a value.
func explain(err error, data []byte) error {
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(missing.Errors) > 0 {
		e := missing.Errors[0]
		line, _ := e.Position()
		return fmt.Errorf("line %d: the key %q is unknown: %s", line, dotted(e.Key()), instead(e.Key()))
	}
	e, ok := errors.AsType[*toml.DecodeError](err)
	if !ok {
		return err
	}
	line, column := e.Position()
	what := whole(strings.TrimPrefix(e.Error(), "toml: "), data, line, column)
	if kind, _, ok := strings.Cut(strings.TrimPrefix(what, "cannot decode TOML "), " into "); ok {
		what = "it cannot be of the type " + kind
	}
	if len(e.Key()) == 0 {
		return fmt.Errorf("line %d: %s", line, what)
	}
	switch k := e.Key(); {
	case len(k) == 3 && k[0] == "agents" && k[2] == "command":
		what = `it is a list, the program and each argument in quotes of their own, as ["sh", "-c", "..."]`
	case len(k) == 3 && k[0] == "agents" && k[2] == "env":
		what = `it is a list of names, as ["MY_API_KEY"]`
	case dotted(k) == "notify.owner":
		what = `it is a list of accounts, as ["local:default"]`
	}
	return fmt.Errorf("line %d: the value of %q is wrong: %s", line, dotted(e.Key()), what)
}

// whole puts the character that stands at a place where the decoder names its first byte alone, as if that
// were one.
func whole(what string, data []byte, line, column int) string {
	text := bytes.Split(data, []byte{'\n'})
	if line < 1 || line > len(text) || column < 1 || column > len(text[line-1]) {
		return what
	}
	at := text[line-1][column-1:]
	r, size := utf8.DecodeRune(at)
	if size < 2 {
		return what
	}
	return strings.Replace(what, fmt.Sprintf("%#U", rune(at[0])), fmt.Sprintf("%#U", r), 1)
}

// instead is which keys there are where an unknown one stands.
func instead(key []string) string {
	table, where := reflect.TypeFor[file](), "the file has "
	for i, part := range key[:len(key)-1] {
		switch next := keysOf(table)[part]; {
		case table.Kind() == reflect.Map: // part is a name that a person has chosen
			table = table.Elem()
		case next == nil || next.Kind() != reflect.Struct && next.Kind() != reflect.Map:
			return where + strings.Join(slices.Sorted(maps.Keys(keysOf(table))), ", ")
		default:
			table = next
		}
		where = "[" + dotted(key[:i+1]) + "] has "
	}
	return where + strings.Join(slices.Sorted(maps.Keys(keysOf(table))), ", ")
}

// keysOf is what may stand in a table of the file.
func keysOf(table reflect.Type) map[string]reflect.Type {
	keys := map[string]reflect.Type{}
	for i := 0; table.Kind() == reflect.Struct && i < table.NumField(); i++ {
		keys[table.Field(i).Tag.Get("toml")] = table.Field(i).Type
	}
	return keys
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
	return fmt.Errorf("line %d: the value of %q is wrong: %s", at.nearest(key), key, fmt.Sprintf(format, args...))
}

// missing is an error about a key that must be there.
func (at lines) missing(key, what string) error {
	return fmt.Errorf("line %d: %q is missing: %s", at.nearest(key), key, what)
}

// nearest is the line of a key, or of the table where it would stand.
func (at lines) nearest(key string) (line int) {
	for line == 0 && key != "" {
		line = at[key]
		key = key[:max(strings.LastIndexByte(key, '.'), 0)]
	}
	return line
}
