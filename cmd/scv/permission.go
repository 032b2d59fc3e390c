package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
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

// question asks for the permission. What it shows is the input as it came, or its beginning: then the owner
// can see that there is more. Hash is in the question and names the whole input.
func (p permission) question() (text, hash string, err error) {
	input := p.input.Clone()
	err = input.Compact()
	sum := sha256.Sum256(input)
	hash = hex.EncodeToString(sum[:8])
	err = errors.Join(err, input.Compact(jsontext.PreserveRawStrings(false))) // an r written as \u0072 is shown as r
	if err != nil {
		return "", "", fmt.Errorf("the tool's input is no JSON: %w", err)
	}
	shown := string(input)
	if len(shown) > maxPermissionText {
		if p.runs() {
			return "", "", fmt.Errorf("the command has %d bytes, too long for the owner to be shown all of it; "+
				"put it into a script and run that", len(shown))
		}
		shown = fmt.Sprintf("%s … [%d bytes more]", strings.ToValidUTF8(shown[:maxPermissionText], ""), len(shown)-maxPermissionText)
	}
	where := ""
	if p.cwd != "" {
		where = " in " + line(p.cwd)
	}
	return fmt.Sprintf("May the agent use the tool %s%s? %s (input %s)", line(p.tool), where, shown, hash), hash, nil
}

// runs reports whether the tool would run a command, of which nobody may see only the beginning.
func (p permission) runs() bool {
	var in struct {
		Command jsontext.Value `json:"command"`
	}
	return p.tool == "Bash" || json.Unmarshal(p.input, &in) != nil || len(in.Command) > 0
}

// permit asks the owner. It allows nothing but after a yes, and says why where it does not.
func (a *app) permit(p permission, timeout time.Duration) (allowed bool, why string) {
	text, hash, err := p.question()
	if err != nil {
		return false, line(err.Error())
	}
	ask := confirmCmd{Timeout: timeout, Question: literal(text)}
	request, err := ask.request(a.getenv("SCV_PARENT"))
	if err != nil {
		return false, line(err.Error())
	}
	info, err := a.follow(request, timeout, hash)
	if err != nil {
		return false, "the owner could not be asked: " + line(err.Error())
	}
	return info.State == wire.Yes, meaningOf(info.State)
}
