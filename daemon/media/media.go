// Package media keeps the files of chats: those that came with messages, until they are old, and those that go
// with answers, until they are sent. It knows no platform and no record: turn fetches and collects, outbox sends,
// and the daemon sweeps.
//
//	media/in/<channel>/<account>/<conversation>/<message>/   what came
//	media/out/<channel>/<account>/<conversation>/            the outbox of an agent (SCV_OUTBOX)
//	media/left/<channel>/<account>/<conversation>/<when>/    what stood in an outbox and was not sent
//	media/sending/<channel>/<account>/<answer>/<number>      our copies of what goes with an answer
//
// Folders have mode 0700 and files 0600 from their first byte. A conversation and a message are named by a hash,
// since their ids are the platform's. Whoever runs as our user can write anywhere here, an agent with tools too:
// so what is read from an outbox is read without following links, and copied, not moved. A copy is ours alone,
// where the agent could go on writing to what was moved, and a crash before the answer is committed loses nothing.
package media

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"scv/internal/durable"
	"scv/internal/layout"
)

// Names in the folder.
const (
	came    = "in"
	outbox  = "out"
	left    = "left"
	sending = "sending"
)

// Folders is where the files of one home are.
type Folders struct{ root string }

// In gives the folders of a home.
func In(home string) Folders { return Folders{filepath.Join(home, layout.Media)} }

// Chat names a conversation of an account.
type Chat struct{ Account, Conversation string }

// hashed names something by an id that may hold anything.
func hashed(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// of is the folder of an account, whose id was checked before it was stored; that of a damaged record may be
// anything, and leads nowhere.
func (f Folders) of(kind, account string) string {
	channel, name, _ := strings.Cut(account, ":")
	if !element(channel) || !element(name) {
		return filepath.Join(f.root, kind, "unknown", hashed(account))
	}
	return filepath.Join(f.root, kind, channel, name)
}

// element reports whether a name is one element of a path and nothing special.
func element(name string) bool {
	return name != "" && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, "/\x00")
}

func (f Folders) chat(kind string, c Chat) string {
	return filepath.Join(f.of(kind, c.Account), hashed(c.Conversation))
}

// Received is where what came into a chat is kept.
func (f Folders) Received(c Chat) string { return f.chat(came, c) }

// Outbox is where the agent of a chat puts files that are to go with its answer.
func (f Folders) Outbox(c Chat) string { return f.chat(outbox, c) }

// Open makes both, so that an agent can be told of them.
func (f Folders) Open(c Chat) error {
	for _, path := range []string{f.Received(c), f.Outbox(c)} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return fmt.Errorf("cannot make the folder %q: %w", path, err)
		}
	}
	return nil
}

// mkdir makes a folder and those above it up to the root, each of them durable.
func (f Folders) mkdir(path string) error {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return nil
	}
	if path != f.root {
		if err := f.mkdir(filepath.Dir(path)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}
