package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"scv/daemon/channel/feishu/feishutest"
	"scv/daemon/media"
	"scv/internal/failpoint"
	"scv/wire"
)

// returner is an agent that prints what it is told, and sends back each file that came under its size; "links" has
// it try what it may not.
const returner = `p=$(cat); printf '%s\n' "$p"
printf '%s\n' "$p" | sed -n -e 's/^\[image: \(\/.*\)\]$/\1/p' -e 's/^\[file [^:]*: \(\/.*\)\]$/\1/p' |
while read -r f; do cp "$f" "$SCV_OUTBOX/$(wc -c <"$f" | tr -d ' ').txt"; done
case "$p" in links*) ln -s /etc/passwd "$SCV_OUTBOX/link"; mkfifo "$SCV_OUTBOX/pipe"; ln "$0" "$SCV_OUTBOX/hard";; esac`

// post is an owner who sends files to an agent and gets files from it, over a fake platform.
type post struct {
	t     *testing.T
	p     *feishutest.Platform
	home  string
	chat  string
	owner string
	d     *daemonProcess
}

func newPost(t *testing.T, more string) *post {
	x := &post{t: t}
	x.home, x.p = newPlatform(t)
	script := filepath.Join(filepath.Dir(x.home), "agent")
	writeFile(t, script, returner)
	writeConfig(t, x.home, fmt.Sprintf("[agents.returner]\ncommand = [\"/bin/sh\", %q]\n[feishu]\nstand_in = %q\n"+
		"[timing]\nreconcile = \"20ms\"\nbackoff_min = \"10ms\"\nbackoff_max = \"50ms\"\n%s", script, x.p.PlainURL(), more))
	if got := at(t, x.home).scv("channels", "login", "feishu"); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	apps := x.p.Apps()
	app := apps[len(apps)-1]
	x.chat, x.owner = x.p.Direct(app.ID, app.Owner), app.Owner
	x.start("scv")
	if got := at(t, x.home).scv("channels", "set", "feishu:default", "--remote-tools", "owner"); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	x.d.component(t, "feishu:default", wire.Connected)
	x.say("hello") // the chat is known from here on
	return x
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (x *post) start(program string, env ...string) {
	x.t.Helper()
	x.d = spawnDaemon(x.t, x.home, program, env)
	if err := x.d.ready(x.t); err != nil {
		x.t.Fatalf("the daemon does not answer: %v\n%s", err, x.d.log())
	}
	x.d.component(x.t, "feishu:default", wire.Connected)
}

// say writes a message and waits for all that answers it: a text, and as many files as are told.
func (x *post) say(text string, opts ...feishutest.Option) (words string, files []string) {
	x.t.Helper()
	id := x.p.Say(x.chat, x.owner, text, opts...)
	until(x.t, "an answer", func() bool { return x.ended(id) })
	return x.answer(id)
}

// ended reports whether nothing more waits to be sent, and something was.
func (x *post) ended(id string) bool {
	words, files := x.answer(id)
	waiting, _ := filepath.Glob(filepath.Join(x.home, "media", "sending", "*", "*", "*"))
	return words+strings.Join(files, "") != "" && len(waiting) == 0
}

// answer is what answers a message: its text, and what its files hold.
func (x *post) answer(id string) (words string, files []string) {
	for _, s := range x.p.Sent() {
		var key struct {
			Image string `json:"image_key"`
			File  string `json:"file_key"`
		}
		switch {
		case s.ReplyTo != id:
		case s.Kind == "text":
			words += s.Text
		case json.Unmarshal([]byte(s.Content), &key) == nil:
			files = append(files, string(x.p.Blob(key.Image+key.File)))
		}
	}
	return words, files
}

// A picture and a document go in, the agent reads them, and what it makes of them comes back, without anything that
// it may not send. The limit holds at -1, 0 and +1. A log-out leaves none of it.
func TestFilesThroughAChat(t *testing.T) {
	x := newPost(t, "[media]\nowner_max_mib = 1\n")
	const png = "\x89PNG\r\n\x1a\n"
	words, files := x.say("", feishutest.Image([]byte(png)))
	if !strings.Contains(words, "[image: "+x.home) || len(files) != 1 || files[0] != png {
		t.Errorf("answer %q, files %q", words, files)
	}
	words, files = x.say("links")
	for _, part := range []string{"[3 not sent, still in ", "- hard: it has another name", "- link: no ordinary file", "- pipe: no ordinary file"} {
		if !strings.Contains(words, part) || len(files) != 0 {
			t.Errorf("%q is not in %q, files %q", part, words, files)
		}
	}
	for n := 1<<20 - 1; n <= 1<<20+1; n++ {
		content := strings.Repeat("x", n)
		words, files = x.say("", feishutest.File("big\nfile.txt", []byte(content)))
		if fits := n <= 1<<20; fits != (len(files) == 1 && files[0] == content) || fits == strings.Contains(words, "not fetched: larger than 1 MiB]") {
			t.Errorf("%d bytes: answer %q, %d files", n, words, len(files))
		}
	}
	if words, _ = x.say("", feishutest.Audio([]byte("sound"))); !strings.Contains(words, "Please type") {
		t.Errorf("voice is answered with %q", words)
	}
	for _, where := range []string{"in", "left"} { // the links were put aside
		if _, err := os.Stat(filepath.Join(x.home, "media", where, "feishu", "default")); err != nil {
			t.Errorf("where files are: %v", err)
		}
	}
	if got := at(t, x.home).scv("channels", "logout", "feishu:default"); got.code != 0 {
		t.Errorf("got %+v", got)
	}
	if paths, _ := filepath.Glob(filepath.Join(x.home, "media", "*", "feishu", "default")); len(paths) != 0 {
		t.Errorf("a log-out leaves %q", paths)
	}
	x.d.terminate(t)
}

// A daemon that dies, or is told of an error, at any moment of a file's way: the message gets one answer, no file
// is seen twice, and the next message finds everything in order.
func TestFilesSurviveFaults(t *testing.T) {
	program := builtWith(t, "failpoints")
	for _, c := range []struct {
		point, mode string
		hit         int
		file        bool // the answer has its file in the end
	}{
		{failpoint.MediaKeep, "crash", 1, true},
		{failpoint.MediaCopy, "crash", 1, true},
		{failpoint.MediaCopy, "error", 1, false},
		{failpoint.MediaAside, "crash", 1, true},
		{failpoint.MediaAside, "error", 1, false},
		{failpoint.MediaRemove, "crash", 3, true}, // after two at the start: before the copies
		{failpoint.MediaRemove, "crash", 4, true}, // when all is sent
		{failpoint.MediaRemove, "error", 4, true},
		{failpoint.SendBefore, "crash", 2, true}, // the text is sent, the file is not
		{failpoint.SendAfter, "crash", 2, true},
	} {
		t.Run(fmt.Sprintf("%s=%s@%d", c.point, c.mode, c.hit), func(t *testing.T) {
			t.Parallel()
			x := newPost(t, "")
			x.d.stop(t)
			left := filepath.Join(media.In(x.home).Outbox(media.Chat{Account: "feishu:default", Conversation: x.owner}), "left.txt")
			writeFile(t, left, "of a turn before")
			hits := filepath.Join(filepath.Dir(x.home), "hits")
			x.start(program, fmt.Sprintf("SCV_FAILPOINTS=%s=%s@%d", c.point, c.mode, c.hit), "SCV_FAILPOINTS_HITS="+hits)
			id := x.p.Say(x.chat, x.owner, "", feishutest.File("a.txt", []byte("words")))
			until(t, "the fault", func() bool { _, err := os.Stat(hits); return err == nil })
			if c.mode == "crash" {
				<-x.d.ended
				x.start("scv")
			}
			if c.point == failpoint.MediaRemove && c.mode == "error" { // its copies are removed by the next start
				until(t, "the file", func() bool { _, files := x.answer(id); return len(files) > 0 })
				x.d.stop(t)
				x.start("scv")
			}
			until(t, "an answer", func() bool { return x.ended(id) })
			words, files := x.answer(id)
			if got := strings.Join(files, "|"); c.file && got != "words" || !c.file && got != "" {
				t.Errorf("answer %q, files %q\n%s", words, files, x.d.log())
			}
			if words, files = x.say("", feishutest.File("b.txt", []byte("more words"))); len(files) != 1 || files[0] != "more words" {
				t.Errorf("then: answer %q, files %q", words, files)
			}
			x.d.terminate(t)
		})
	}
}
