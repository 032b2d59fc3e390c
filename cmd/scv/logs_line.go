package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// logLine shows one line of the log to a person: when, how bad, what, and the rest as key=value. A line
// that is none of ours is shown as it is, escaped.
func logLine(text string, colour bool) string {
	fields, err := logFields(text)
	if err != nil {
		return line(text)
	}
	var when, level, what string
	var rest []string
	for _, f := range fields {
		switch f.key {
		case "time":
			when = f.value
			if at, err := time.Parse(time.RFC3339Nano, f.value); err == nil {
				when = at.Local().Format(time.DateTime)
			}
		case "level":
			level = f.value
		case "msg":
			what = f.value
		default:
			value := line(f.value)
			if f.text {
				value = logWord(f.value)
			}
			rest = append(rest, paint(line(f.key)+"=", dim, colour)+value)
		}
	}
	head := fmt.Sprintf("%s %s %s", paint(line(when), dim, colour), paint(fmt.Sprintf("%-5s", line(level)), levelStyle(level), colour), line(what))
	return strings.Join(append([]string{head}, rest...), " ")
}

type logField struct {
	key, value string
	text       bool // a string; else JSON
}

// logFields takes a JSON object apart in its own order. A value that is no string stays JSON.
func logFields(text string) ([]logField, error) {
	d := jsontext.NewDecoder(strings.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if kind := d.PeekKind(); kind != '{' {
		return nil, fmt.Errorf("a line of the log begins with %q", kind)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var fields []logField
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String() // a token is valid only until the next read
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		f := logField{key: key, value: string(value)}
		if value.Kind() == '"' {
			plain, err := jsontext.AppendUnquote(nil, value)
			if err != nil {
				return nil, err
			}
			f.value, f.text = string(plain), true
		}
		fields = append(fields, f)
	}
	_, err := d.ReadToken()
	return fields, err
}

// logWord is a value on a line of several: quoted where its end could not be seen.
func logWord(s string) string {
	if s == "" || strings.ContainsAny(s, " \"=") {
		return `"` + strings.ReplaceAll(line(s), `"`, `\"`) + `"`
	}
	return line(s)
}

func levelStyle(level string) style {
	switch level {
	case "ERROR":
		return bad
	case "WARN":
		return warn
	case "DEBUG":
		return dim
	}
	return plain
}
