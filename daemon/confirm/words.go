package confirm

import (
	"slices"
	"strings"
	"unicode"

	"scv/wire"
)

// The exact words, in lower case. Everyday words are left out of the answers on purpose: people say
// them to an agent all the time.
var (
	yesWords      = []string{"yes", "y", "是", "是的", "确认", "同意"}
	noWords       = []string{"no", "n", "否", "不", "不要", "取消", "算了", "stop"}
	everydayWords = []string{"ok", "okay", "好", "好的", "可以", "行", "嗯", "👍"}
)

// Words are those that answer a question, for a person who asks what to write.
func Words() (yes, no []string) { return slices.Clone(yesWords), slices.Clone(noWords) }

// words is what a message says, as far as a question is concerned.
type words struct {
	answer   wire.ConfirmState // Yes or No when the message is exactly an answer, else ""
	word     string            // the answer word
	code     string            // that came after it, or ""
	everyday bool              // exactly an everyday word
	begins   bool              // its first word is an answer word
}

// read reads a message. isCode reports whether a word has the form of a code: "yes 3f" is an answer,
// "yes please" is not.
func read(text string, isCode func(string) bool) words {
	text = strings.TrimRight(strings.ToLower(strings.TrimSpace(text)), ".!。！")
	if state := meaning(text); state != "" {
		return words{answer: state, word: text, begins: true}
	}
	if fields := strings.Fields(text); len(fields) == 2 && isCode(fields[1]) {
		if state := meaning(fields[0]); state != "" {
			return words{answer: state, word: fields[0], code: fields[1], begins: true}
		}
	}
	return words{
		everyday: slices.Contains(everydayWords, text),
		begins:   meaning(firstWord(text)) != "",
	}
}

func meaning(word string) wire.ConfirmState {
	switch {
	case slices.Contains(yesWords, word):
		return wire.Yes
	case slices.Contains(noWords, word):
		return wire.No
	}
	return ""
}

// firstWord ends at the first rune that is no letter, digit or mark. Chinese has no blanks, so there
// it ends at a punctuation mark.
func firstWord(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	if end < 0 {
		return text
	}
	return text[:end]
}

// Coded is the code in a message that is exactly an answer with one, as "yes 3f"; "" for any other.
// Where no open question has it, the message was meant for one that has ended, and is no task for an
// agent.
func Coded(text string) string {
	return read(text, func(word string) bool {
		return 2 <= len(word) && len(word) <= 4 && strings.Trim(word, "0123456789abcdef") == ""
	}).code
}
