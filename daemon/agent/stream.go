package agent

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// This file reads what a program prints as one JSON object in each line, and keeps of it what its answer
// is made of.

// Bounds of an output (docs/rules.md §10).
const (
	maxLine     = 4 << 20   // bytes of one line; a longer one is skipped
	maxText     = 128 << 10 // bytes of a text as it comes: cleaning takes away what nobody sees
	maxReply    = acpReply  // bytes of a reply, its mark included
	maxFailure  = 4 << 10   // bytes of the program's own words on its failure
	maxProgress = 120       // characters of a line of progress

	// KeptAnswer bounds what Condense keeps: a text of which every character needs an escape, and the rest.
	KeptAnswer = 2*maxReply + 4*maxFailure
)

// said is what is known of an answer so far. Condense writes it, and Answer reads it back as it reads the
// program's own lines.
type said struct {
	Session string `json:"session,omitzero"`
	Text    string `json:"text,omitzero"`
	Cut     bool   `json:"cut,omitzero"`     // the text was longer
	Failed  bool   `json:"failed,omitzero"`  // the program says so itself
	Why     string `json:"why,omitzero"`     // its own words on that
	Lost    bool   `json:"lost,omitzero"`    // it does not know the session
	Skipped bool   `json:"skipped,omitzero"` // a line was too long
	Spoke   bool   `json:"spoke,omitzero"`   // there was a line that the driver knows

	apart bool // the next piece of text begins a new one
}

// condensed is the one line that Condense writes.
type condensed struct {
	Said *said `json:"scv_condensed"`
}

// fold adds one line of a program's output to what is known, and reports whether it knows such a line.
type fold func(s *said, line []byte) bool

// listen reads an output to its end, line by line. Lines that are no object or too long say nothing.
func listen(out io.Reader, each fold) (said, error) {
	var s said
	lines := bufio.NewReaderSize(out, 64<<10)
	var line []byte
	for {
		var whole bool
		var err error
		line, whole, err = readLine(lines, line[:0])
		s.Skipped = s.Skipped || !whole
		if object := bytes.TrimSpace(line); bytes.HasPrefix(object, []byte("{")) {
			s.hear(validUTF8(object), each)
		}
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return said{}, err
		}
	}
}

// hear takes one line.
func (s *said) hear(line []byte, each fold) {
	var kept condensed
	if bytes.HasPrefix(line, []byte(`{"scv_condensed":`)) && readJSON(line, &kept) && kept.Said != nil {
		*s = *kept.Said
		return
	}
	s.Spoke = each(s, line) || s.Spoke
}

// validUTF8 makes what cannot be read one character that says so.
func validUTF8(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}

// readLine reads one line into line; whole is false if it was too long, and then it is not returned.
func readLine(r *bufio.Reader, line []byte) (_ []byte, whole bool, err error) {
	for whole = true; ; {
		part, err := r.ReadSlice('\n')
		if whole = whole && len(line)+len(part) <= maxLine; whole {
			line = append(line, part...)
		} else {
			line = line[:0]
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, whole, err
		}
	}
}

// readJSON reads what programs of others print: unknown members, and some twice, are no reason to lose an answer.
func readJSON(line []byte, into any) bool {
	return json.Unmarshal(line, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) == nil
}

// answers sets the text; the last one that is not blank stands.
func (s *said) answers(text string) {
	if strings.TrimSpace(text) != "" {
		s.Text, s.Cut = cutText(text, maxText), len(text) > maxText
	}
}

// adds puts a piece to the text that is coming.
func (s *said) adds(text string) {
	if s.apart && strings.TrimSpace(text) != "" {
		s.Text, s.Cut, s.apart = "", false, false
	}
	room := maxText - len(s.Text)
	s.Text, s.Cut = s.Text+cutText(text, room), s.Cut || len(text) > room
}

// fails is the program's own word that it failed.
func (s *said) fails(why string) {
	s.Failed = true
	s.explains(why)
}

// explains keeps what the program says of a failure.
func (s *said) explains(why string) {
	if why = Clean(why); why != "" {
		s.Why = cutText(why, maxFailure)
	}
}

// reply is the text, fit to be sent.
func (s *said) reply() string {
	text := Clean(s.Text)
	if len(text) <= maxReply && (!s.Cut || strings.HasSuffix(text, acpCut)) {
		return text
	}
	return cutText(text, maxReply-len(acpCut)) + acpCut
}

// cutText is at most n bytes of a text, in whole characters.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// condense is listen for later: one line that says the same.
func condense(out io.Reader, each fold) ([]byte, error) {
	s, err := listen(out, each)
	if err != nil {
		return nil, err
	}
	s.Text, s.Session = s.reply(), sessionName(s.Session)
	line, err := json.Marshal(condensed{&s})
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// oneLine makes a line of progress.
func oneLine(verb, what string) string {
	line := []rune(Clean(strings.Join(strings.Fields(verb+what), " ")))
	if len(line) > maxProgress {
		line = append(line[:maxProgress-1], '…')
	}
	return string(line)
}
