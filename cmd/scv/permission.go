package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"scv/wire"
)

// maxPermissionText is how much of a tool's input a question shows, in bytes. With the rest of the
// question it stays far from being cut again when it is shown.
const maxPermissionText = 2500

// permission is what an agent wants to do and may not do by itself.
type permission struct {
	tool  string         // its name
	input jsontext.Value // what it would be given, as it came
	cwd   string         // where, "" if that is not known
}

// question asks for the permission. It shows the input as it came, all of it: what is left out may be what does
// the harm. Only of the text that a tool known by its name would put into a file is the beginning enough,
// with a mark that there is more; where it would put it comes first. The tail names the whole input by its hash.
func (p permission) question() (text, tail string, err error) {
	input := p.input.Clone()
	err = input.Compact()
	sum := sha256.Sum256(input)
	tail = " (input " + hex.EncodeToString(sum[:8]) + ")"
	err = errors.Join(err, input.Compact(jsontext.PreserveRawStrings(false))) // an r written as \u0072 is shown as r
	if err != nil {
		return "", "", fmt.Errorf("the tool's input is no JSON: %w", err)
	}
	shown := string(input)
	if len(shown) > maxPermissionText {
		if shown, err = p.shortened(input); err != nil {
			return "", "", err
		}
	}
	where := ""
	if p.cwd != "" {
		where = " in " + line(p.cwd)
	}
	return fmt.Sprintf("May the agent use the tool %s%s? %s", line(p.tool), where, shown) + tail, tail, nil
}

// fileText is the members of a tool's input that are text for a file and nothing else, and where the file's name
// is. A person who reads the name and the beginning knows what is allowed.
type fileText struct {
	path string
	text []string
}

func fileTextOf(tool string) fileText {
	switch tool {
	case "Write":
		return fileText{"file_path", []string{"content"}}
	case "Edit":
		return fileText{"file_path", []string{"old_string", "new_string"}}
	case "MultiEdit":
		return fileText{"file_path", []string{"edits"}}
	case "NotebookEdit":
		return fileText{"notebook_path", []string{"new_source"}}
	}
	return fileText{}
}

// shortened shows a long input: everything but the text for a file whole and first, then the beginning of that.
func (p permission) shortened(input jsontext.Value) (string, error) {
	tooLong := fmt.Errorf("the input has %d bytes, too long for the owner to be shown all of it; "+
		"put a long command into a script and run that", len(input))
	known := fileTextOf(p.tool)
	members, err := membersOf(input)
	if err != nil {
		return "", err
	}
	var whole, cut []string
	named, length := false, 0
	for _, m := range members {
		if slices.Contains(known.text, m.name) {
			cut = append(cut, m.text)
			continue
		}
		named = named || m.name == known.path
		length += len(m.text)
		whole = append(whole, m.text)
	}
	if len(cut) == 0 || !named || length > maxPermissionText/2 {
		return "", tooLong
	}
	room := (maxPermissionText - length) / len(cut)
	for _, text := range cut {
		if len(text) > room {
			text = fmt.Sprintf("%s … [%d bytes more]", strings.ToValidUTF8(text[:room], ""), len(text)-room)
		}
		whole = append(whole, text)
	}
	return "{" + strings.Join(whole, ",") + "}", nil
}

// member is one of an object's, with the text that shows it.
type member struct{ name, text string }

func membersOf(object jsontext.Value) (list []member, err error) {
	read := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := read.ReadToken(); err != nil {
		return nil, fmt.Errorf("the tool's input is no JSON: %w", err)
	}
	for read.PeekKind() == '"' {
		name, err := read.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("the tool's input is no JSON: %w", err)
		}
		word := name.String()
		value, err := read.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("the tool's input is no JSON: %w", err)
		}
		quoted, err := jsontext.AppendQuote(nil, word)
		if err != nil {
			return nil, fmt.Errorf("the tool's input is no JSON: %w", err)
		}
		list = append(list, member{word, string(quoted) + ":" + string(value)})
	}
	return list, nil
}

// ruling is what became of a permission, and why.
type ruling struct {
	info wire.ConfirmInfo // of the question; empty where it came to nothing
	text string
	why  string
}

// allows is true for the owner's yes and nothing else.
func (r ruling) allows() bool { return r.info.State == wire.Yes }

// permit asks the owner.
func (a *app) permit(p permission, timeout time.Duration) ruling {
	text, tail, err := p.question()
	if err != nil {
		return ruling{why: line(err.Error())}
	}
	ask := confirmCmd{Timeout: timeout, Question: literal(text)}
	request, err := ask.request(a.getenv("SCV_PARENT"))
	if err != nil {
		return ruling{why: line(err.Error())}
	}
	info, err := a.follow(request, timeout, tail)
	if err != nil {
		a.takeBack(info, text, noLongerWaits)
		return ruling{why: "the owner could not be asked: " + line(err.Error())}
	}
	return ruling{info, text, meaningOf(info.State)}
}
