package store

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// keyForm is how a bucket's keys are built. An account is a component id, which has no slash; the
// text after the slash may hold any bytes.
type keyForm int

const (
	keyText        keyForm = iota // an id or a fixed word
	keySeq                        // 8 bytes of sequence, big-endian
	keyAccountSeq                 // <account>/<8 bytes of sequence, big-endian>
	keyAccountText                // <account>/<text>
)

func bigEndian(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// accountPrefix begins the keys of one account.
func accountPrefix(account string) []byte { return append([]byte(account), '/') }

func accountSeqKey(account string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(accountPrefix(account), seq)
}

func accountTextKey(account, text string) []byte {
	return append(accountPrefix(account), text...)
}

// checkAccount keeps a name out of the keys that would break them.
func checkAccount(account string) error {
	if account == "" || strings.Contains(account, "/") {
		return fmt.Errorf("cannot use %q as an account in the store: it must be <channel>:<account>", account)
	}
	return nil
}

// splitAccount takes a key of an account apart: its account and the rest.
func splitAccount(key []byte) (account, rest string, ok bool) {
	account, rest, ok = strings.Cut(string(key), "/")
	return account, rest, ok && account != ""
}

// seqOf is the sequence that ends a key.
func seqOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// check reports whether a key has the form.
func (f keyForm) check(key []byte) bool {
	switch f {
	case keySeq:
		return len(key) == 8
	case keyAccountSeq:
		_, rest, ok := splitAccount(key)
		return ok && len(rest) == 8
	case keyAccountText:
		_, _, ok := splitAccount(key)
		return ok
	case keyText:
		return len(key) > 0
	}
	panic("store: unknown key form " + strconv.Itoa(int(f)))
}

// text shows a key to a person: sequences in decimal, bytes that are no text escaped.
func (f keyForm) text(key []byte) string {
	switch {
	case !f.check(key):
		return printable(string(key))
	case f == keySeq:
		return strconv.FormatUint(seqOf(key), 10)
	case f == keyAccountSeq:
		account, _, _ := splitAccount(key)
		return printable(account) + "/" + strconv.FormatUint(seqOf(key), 10)
	}
	return printable(string(key))
}

func printable(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// group is what a key's retention rule counts within: its account, or the whole bucket.
func (f keyForm) group(key []byte) string {
	if f == keyAccountSeq || f == keyAccountText {
		account, _, _ := splitAccount(key)
		return account
	}
	return ""
}
