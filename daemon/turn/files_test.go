package turn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/agent"
	"scv/daemon/channel"
	"scv/daemon/media"
	"scv/internal/clock"
	"scv/store"
)

// carrier is a platform with files, by their ref. What is not there is refused.
type carrier struct {
	channel.Adapter
	mu     sync.Mutex
	files  map[string]string
	fail   map[string]int // that many times it cannot be reached for it
	asked  []string
	upload int64
	hook   func()        // called in a fetch
	stuck  chan struct{} // a fetch closes it and never ends by itself
}

var errLine = errors.New("the line is dead")

func (c *carrier) Fetch(ctx context.Context, f channel.File, w io.Writer, limit int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, f.Ref)
	if c.stuck != nil {
		close(c.stuck)
		<-ctx.Done()
		return ctx.Err()
	}
	if c.hook != nil {
		c.hook()
	}
	if c.fail[f.Ref] > 0 {
		c.fail[f.Ref]--
		return errLine
	}
	content, there := c.files[f.Ref]
	switch {
	case !there:
		return fmt.Errorf("%w: not there", channel.ErrRefused)
	case int64(len(content)) > limit:
		return channel.ErrTooLarge
	}
	_, err := io.WriteString(w, content)
	return err
}

func (c *carrier) MaxUpload(channel.FileKind) int64 {
	if c.upload > 0 {
		return c.upload
	}
	return media.MaxOutBytes
}

const png = "\x89PNG\r\n\x1a\n"

// carries is a world whose platform carries files, and whose agent is a line of shell.
func carries(t *testing.T, line string) *world {
	w := newWorld(t)
	w.carrier = &carrier{files: map[string]string{"p": png, "d": "words", "big": strings.Repeat("x", 11)}, fail: map[string]int{}}
	w.limits.OwnerFile, w.limits.OthersImage = 10, 5
	w.agents = agent.FromConfig(map[string]agent.Command{"fake": {Command: []string{"/bin/sh", "-c", line}}}, os.Environ())
	return w
}

func withFiles(files ...store.File) func(*store.Claim) {
	return func(c *store.Claim) { c.Files = files }
}

var talk = media.Chat{Account: account, Conversation: "c"}

func (w *world) box() string { return media.In(w.home).Outbox(talk) }

const note = "[Files that you put into "

// A turn is given what came: the prompt says where each file is, and the agent can read it there.
func TestFilesComeIn(t *testing.T) {
	w := carries(t, `cat; for f in $(find media/in -type f | sort); do cat "$f"; done`)
	w.run()
	w.claim("c", "look", withFiles(
		store.File{Kind: "image", Ref: "p"}, store.File{Kind: "document", Name: "a\nb/c.txt", Ref: "d", Size: 5},
		store.File{Kind: "document", Name: "big.bin", Ref: "big"}, store.File{Kind: "video", Ref: "d", Size: 11},
		store.File{Kind: "voice", Ref: "gone"}, store.File{Kind: "image"},
	))
	text := w.says("reply")
	in := media.In(w.home).Received(talk)
	for _, part := range []string{
		"look\n\n[image: " + in, "/image.png]\n[file c.txt: " + in, "/c.txt]\n[file big.bin: not fetched: larger than 0 MiB]\n",
		"[video: not fetched: larger than 0 MiB]\n[voice: not fetched: the platform does not give it any more]\n",
		"[image: not fetched: the platform did not say where it is]\n\n" + note + w.box() + " (SCV_OUTBOX)",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
	if !strings.Contains(text, "]words") { // the picture's first byte is none of a text
		t.Errorf("the agent did not read them: %q", text)
	}
	if want := []string{"p", "d", "big", "gone"}; !reflect.DeepEqual(w.carrier.asked, want) {
		t.Errorf("asked for %q", w.carrier.asked)
	}
}

// The limit at -1, 0 and +1, by what the platform says and by what it gives.
func TestFileLimits(t *testing.T) {
	w := carries(t, "cat")
	w.limits.OwnerFile = 10
	var files []store.File
	for n := 9; n <= 11; n++ {
		ref := fmt.Sprint("of ", n)
		w.carrier.files[ref] = strings.Repeat("x", n)
		files = append(files, store.File{Kind: "document", Name: fmt.Sprint("told", n), Ref: ref, Size: int64(n)},
			store.File{Kind: "document", Name: fmt.Sprint("untold", n), Ref: ref})
	}
	w.run()
	w.claim("c", "", withFiles(files...))
	text := w.says("reply")
	for n := 9; n <= 11; n++ {
		for _, name := range []string{"told", "untold"} {
			if got := !strings.Contains(text, fmt.Sprint("[file ", name, n, ": not fetched")); got != (n <= 10) {
				t.Errorf("%s%d is fetched: %v", name, n, got)
			}
		}
	}
}

func TestAllowance(t *testing.T) {
	limits := Limits{OwnerFile: 50, OthersImage: 5}
	for _, c := range []struct {
		name   string
		owner  bool
		kind   channel.FileKind
		change func(*Limits)
		bytes  int64
	}{
		{"the owner's picture", true, channel.Image, nil, 50},
		{"the owner's file", true, channel.Document, nil, 50},
		{"anybody's picture", false, channel.Image, nil, 5},
		{"anybody's file", false, channel.Document, nil, 0},
		{"anybody's video", false, channel.Video, nil, 0},
		{"nothing at all, the owner", true, channel.Image, func(l *Limits) { l.OwnerFile = 0 }, 0},
		{"nothing at all, anybody", false, channel.Image, func(l *Limits) { l.OwnerFile = 0 }, 0},
		{"no pictures of others", false, channel.Image, func(l *Limits) { l.OthersImage = 0 }, 0},
		{"the owner all the same", true, channel.Image, func(l *Limits) { l.OthersImage = 0 }, 50},
		{"others never more than the owner", false, channel.Image, func(l *Limits) { l.OthersImage = 99 }, 50},
	} {
		l := limits
		if c.change != nil {
			c.change(&l)
		}
		got, err := allowance(c.owner, c.kind, l)
		if got != c.bytes || (err == nil) != (c.bytes > 0) {
			t.Errorf("%s: %d, %v", c.name, got, err)
		}
	}
}

// Where nobody can read a file it is not fetched, and the agent is told that one came.
func TestFilesWithoutTools(t *testing.T) {
	w := carries(t, "cat")
	row := w.claim("c", "", withFiles(store.File{Kind: "image", Ref: "p"}))
	task := agent.Task{Prompt: "what is this?"}
	w.engine.equip(t.Context(), row, &task)
	if task.Prompt != "what is this?\n\n[image: not fetched: it cannot be read without tools]" || task.Outbox != "" || task.Received != "" {
		t.Errorf("task %+v", task)
	}
	if len(w.carrier.asked) != 0 || exists(w.file("media")) {
		t.Errorf("asked for %q", w.carrier.asked)
	}
}

// A platform that cannot be reached is tried three times, and then the turn goes on without the file.
func TestFetchIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Options{
			Clock: clock.NewVirtual(), Log: slog.New(slog.DiscardHandler), Media: media.In(t.TempDir()), Limits: func() Limits { return Limits{Owner: time.Hour, OwnerFile: 10} },
		})
		c := &carrier{files: map[string]string{"twice": "a", "thrice": "b"}, fail: map[string]int{"twice": 2, "thrice": 3}}
		e.o.Carrier = func(string) (channel.Carrier, bool) { return c, true }
		row := store.ClaimRow{Account: account, Claim: store.Claim{Owner: true, MessageID: "m", Files: []store.File{
			{Kind: "image", Ref: "twice"}, {Kind: "image", Ref: "thrice"},
		}}}
		began := time.Now()
		lines := e.incoming(t.Context(), row, agent.Task{Tools: true})
		const unreached = "not fetched: the platform could not be reached, or the disk is full]"
		if len(lines) != 2 || strings.Contains(lines[0], "not fetched") || lines[1] != "[image: "+unreached {
			t.Errorf("lines %q", lines)
		}
		if took := time.Since(began); took != 6*time.Second || len(c.asked) != 6 {
			t.Errorf("took %v, asked for %q", took, c.asked)
		}
		e.o.Carrier = func(string) (channel.Carrier, bool) { return nil, false }
		row.MessageID = "other"
		if lines = e.incoming(t.Context(), row, agent.Task{Tools: true}); lines[0] != "[image: "+unreached {
			t.Errorf("without an adapter: %q", lines)
		}
		row.MessageID = "m" // which has one of them already
		if lines = e.incoming(t.Context(), row, agent.Task{Tools: true}); strings.Contains(lines[0], "not fetched") {
			t.Errorf("what is there was fetched again: %q", lines)
		}
	})
}

// The time that files take is the turn's own.
func TestFetchWithinTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowCarrier{}
		e := New(Options{
			Clock: clock.NewVirtual(), Log: slog.New(slog.DiscardHandler), Media: media.In(t.TempDir()), Limits: func() Limits { return Limits{Owner: 5 * time.Minute, OwnerFile: 10} },
			Carrier: func(string) (channel.Carrier, bool) { return slow, true },
		})
		row := store.ClaimRow{Account: account, Claim: store.Claim{Owner: true, Files: []store.File{{Kind: "image", Ref: "a"}}}}
		began := time.Now()
		lines := e.incoming(t.Context(), row, agent.Task{Tools: true})
		if took := time.Since(began); took != 5*time.Minute || lines[0] != "[image: not fetched: the time for this turn was up]" {
			t.Errorf("took %v: %q", took, lines)
		}
		if len(slow.took) != 2 || slow.took[0] != fetchTime {
			t.Errorf("tries took %v", slow.took)
		}
	})
}

// A message that is stopped while its files are fetched waits for none of them.
func TestStopWhileFetching(t *testing.T) {
	w := carries(t, "cat")
	w.carrier.stuck = make(chan struct{})
	w.run()
	w.claim("c", "look", func(c *store.Claim) { c.Files = []store.File{{Kind: "image", Ref: "a"}} })
	<-w.carrier.stuck
	w.sayStop("c")
	if r := w.answered(1)[0]; r.Text != notWanted().text {
		t.Errorf("%+v", r)
	}
	if len(w.carrier.asked) != 1 {
		t.Errorf("fetched %q", w.carrier.asked)
	}
}

// An agent has what is left of the turn's time after its files.
func TestTimeSpentOnFiles(t *testing.T) {
	w := carries(t, "cat >/dev/null; exec sleep 60")
	w.carrier.hook = func() { w.clk.Suspend(2 * time.Minute) }
	w.run()
	w.claim("c", "look", withFiles(store.File{Kind: "image", Ref: "p"}))
	if text := w.says("failure"); !strings.Contains(text, "took longer than 1m0s") {
		t.Errorf("says %q", text)
	}
}

type slowCarrier struct {
	carrier
	took []time.Duration
}

func (c *slowCarrier) Fetch(ctx context.Context, _ channel.File, _ io.Writer, _ int64) error {
	began := time.Now()
	<-ctx.Done()
	c.took = append(c.took, time.Since(began))
	return ctx.Err()
}

// What an agent leaves in its outbox goes with its answer, which alone says what does not.
func TestFilesGoOut(t *testing.T) {
	w := carries(t, `cat >got; echo words >"$SCV_OUTBOX/a.txt"; ln -s /etc/passwd "$SCV_OUTBOX/link"; mkfifo "$SCV_OUTBOX/pipe"; echo done`)
	w.run()
	row := w.claim("c", "hello")
	r := w.answered(1)[0]
	want := []store.Upload{{Kind: "document", Name: "a.txt", Size: 6}}
	if !reflect.DeepEqual(r.Files, want) || !strings.HasPrefix(r.Text, "done\n\n[2 not sent, still in "+w.box()+"]\n- link: no ordinary file\n- pipe: ") {
		t.Errorf("reply %+v", r)
	}
	path, err := media.In(w.home).Copy(account, clientID(row), 0, 6)
	must(t, err)
	if b, err := os.ReadFile(path); err != nil || string(b) != "words\n" {
		t.Errorf("copy %q: %v", b, err)
	}
	until(t, "the outbox to lose what is sent", func() bool { return !exists(filepath.Join(w.box(), "a.txt")) })
	if b, err := os.ReadFile(w.file("got")); err != nil || !strings.Contains(string(b), note) {
		t.Errorf("prompt %q: %v", b, err)
	}
}

// A file is an answer, if the agent says nothing besides.
func TestFileAlone(t *testing.T) {
	w := carries(t, `cat >/dev/null; echo words >"$SCV_OUTBOX/a.txt"`)
	w.run()
	w.claim("c", "hello")
	if r := w.answered(1)[0]; r.Kind != "reply" || r.Text != "" || len(r.Files) != 1 {
		t.Errorf("reply %+v", r)
	}
	w.agents = agent.FromConfig(map[string]agent.Command{"fake": {Command: []string{"/bin/sh", "-c", `cat >/dev/null; : >"$SCV_OUTBOX/empty"`}}}, os.Environ())
	w.claim("c", "again")
	r := w.answered(2)[1]
	if r.Kind != "failure" || !strings.Contains(r.Text, "ended without an answer") || !strings.Contains(r.Text, "- empty: empty") || r.Files != nil {
		t.Errorf("reply %+v", r)
	}
}

// A turn that failed sends nothing, and what it left is put aside before the next, which is told.
func TestFilesOfAFailedTurn(t *testing.T) {
	w := carries(t, `p=$(cat); test -e "$SCV_OUTBOX/a.txt" && exit 9; case "$p" in *first*) echo old >"$SCV_OUTBOX/a.txt"; exit 3;; esac; echo "$p"`)
	w.run()
	w.claim("c", "first")
	if r := w.answered(1)[0]; r.Kind != "failure" || r.Files != nil {
		t.Errorf("reply %+v", r)
	}
	w.claim("c", "second")
	r := w.answered(2)[1]
	_, rest, told := strings.Cut(r.Text, "was not sent. It is in ")
	path, _, _ := strings.Cut(rest, " now.]")
	if b, err := os.ReadFile(filepath.Join(path, "a.txt")); !told || err != nil || string(b) != "old\n" || r.Files != nil {
		t.Errorf("reply %+v: %v", r, err)
	}
}

// An outbox that cannot be emptied is none: what stands in it goes with no answer of this turn.
func TestOutboxThatCannotBeEmptied(t *testing.T) {
	w := carries(t, `cat >/dev/null; echo "box: $SCV_OUTBOX"`)
	must(t, media.In(w.home).Open(talk))
	must(t, os.WriteFile(filepath.Join(w.box(), "a.txt"), []byte("old"), 0o600))
	must(t, os.WriteFile(w.file("media/left"), nil, 0o600)) // it stands in the way
	w.run()
	w.claim("c", "hello")
	if r := w.answered(1)[0]; r.Text != "box:" || r.Files != nil || !exists(filepath.Join(w.box(), "a.txt")) {
		t.Errorf("reply %+v", r)
	}
	if !w.logs.has("an agent gets no folder for files") {
		t.Error("nobody hears why")
	}
}

// A crash after the run, before its answer is committed: the next daemon sends the files with it.
func TestFilesOverACrash(t *testing.T) {
	w := carries(t, "true")
	w.earlier("fake-000001", store.Delegation{State: store.RunEnded}, "an answer")
	must(t, media.In(w.home).Open(talk))
	must(t, os.WriteFile(filepath.Join(w.box(), "a.txt"), []byte("words"), 0o600))
	row := w.claim("c", "hello", begun("fake-000001"))
	if files, _ := media.In(w.home).Collect(talk, clientID(row), w.carrier.MaxUpload); len(files) != 1 {
		t.Fatal("nothing collected") // so far the daemon had come
	}
	w.open()
	w.run()
	if r := w.answered(1)[0]; r.Text != "an answer" || len(r.Files) != 1 {
		t.Errorf("reply %+v", r)
	}
}

// Where no session is remembered the agent is told of its outbox; one that goes on knows it. What a platform does
// not carry is not promised.
func TestWhoIsToldOfTheOutbox(t *testing.T) {
	w := carries(t, "cat")
	row := w.claim("c", "hello")
	for name, c := range map[string]struct {
		task    agent.Task
		carrier *carrier
		told    bool
	}{
		"new":           {agent.Task{Tools: true}, w.carrier, true},
		"goes on":       {agent.Task{Tools: true, Session: "s"}, w.carrier, false},
		"without tools": {agent.Task{}, w.carrier, false},
		"no carrier":    {agent.Task{Tools: true}, nil, false},
	} {
		w.carrier = c.carrier
		w.engine.equip(t.Context(), row, &c.task)
		if got := strings.Contains(c.task.Prompt, note); got != c.told || (c.task.Outbox != "") != (c.task.Tools && c.carrier != nil) {
			t.Errorf("%s: %+v", name, c.task)
		}
	}
	job := row
	job.Claim.Job = &store.Job{Handle: "h"}
	w.carrier = &carrier{}
	task := agent.Task{Tools: true}
	if w.engine.equip(t.Context(), job, &task); task.Outbox != "" {
		t.Error("a background delegation has an outbox")
	}
	if r := w.engine.collect(job, reply{kind: channel.Reply}); r.files != nil {
		t.Errorf("it sends %+v", r.files)
	}
}
