package feishu

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/daemon/channel"
	"scv/daemon/channel/feishu/feishutest"
)

func (w *world) fetch(f channel.File, most int64) (string, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	var got bytes.Buffer
	err := w.adapter.Fetch(ctx, f, &got, most)
	return got.String(), err
}

const png = "\x89PNG\r\n\x1a\n"

// Files are found where they stand: alone, in a post, in a group, and as the history tells of them.
func TestFilesComeIn(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	w.say("hello")
	w.Await(1)
	w.Stop()
	img, film := w.p.Upload(true, "", []byte(png)), w.p.Upload(false, "film", []byte("film"))
	post := feishutest.Post("Look", []map[string]any{
		{"tag": "img", "image_key": img}, {"tag": "text", "text": " and "}, {"tag": "media", "file_key": film},
	})
	w.say("", post) // while nobody is connected
	w.start()
	w.say("", feishutest.Audio([]byte("sound")))
	w.say("", feishutest.Video("a.mp4", []byte("film 2")))
	got := w.Await(4)
	for n, want := range []struct {
		text  string
		files []string
	}{{"Look\n[image] and [video]", []string{png, "film"}}, {"", []string{"sound"}}, {"", []string{"film 2"}}} {
		m := got[n+1]
		if m.Text != want.text || len(m.Files) != len(want.files) {
			t.Errorf("message %+v", m)
			continue
		}
		for i, f := range m.Files {
			if content, err := w.fetch(f, 100); err != nil || content != want.files[i] {
				t.Errorf("%+v holds %q, %v", f, content, err)
			}
		}
	}
	if got[2].Files[0].Kind != channel.Voice || got[3].Files[0].Kind != channel.Video || got[3].Files[0].Name != "a.mp4" {
		t.Errorf("kinds of %+v and %+v", got[2], got[3])
	}
	w.Stop()
}

// What becomes of a file that the platform does not simply give.
func TestFetchOutcomes(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   feishutest.Fault
		refused bool
		works   bool // at the first try
	}{
		{"an error with status 200", feishutest.Fault{Code: 234003, Status: 200}, true, false},
		{"JSON that is no error", feishutest.Fault{Body: `{"code":0}`, ContentType: "application/json"}, false, false},
		{"JSON without a code", feishutest.Fault{Body: `{}`, ContentType: "application/json; charset=utf-8"}, false, false},
		{"token no longer good", feishutest.Fault{Code: 99991663, Status: 400}, false, true},
		{"no permission", feishutest.Fault{Code: noScope, Status: 400}, true, false},
		{"rate limit", feishutest.Fault{Status: 429}, false, false},
		{"overload", feishutest.Fault{Status: 503, Body: "<html>"}, false, false},
		{"not there", feishutest.Fault{Status: 404, Body: "<html>"}, true, false},
		{"elsewhere", feishutest.Fault{Status: 302, Header: map[string][]string{"Location": {"http://127.0.0.1:1/"}}}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, feishutest.Options{})
			w.start()
			w.say("", feishutest.Image([]byte(png)))
			f := w.Await(1)[0].Files[0]
			c.fault.Route = feishutest.Resource
			w.p.Inject(c.fault)
			content, err := w.fetch(f, 100)
			if (err == nil) != c.works || errors.Is(err, channel.ErrRefused) != c.refused || err != nil && content != "" {
				t.Fatalf("the first try: %q, %v", content, err)
			}
			if content, err = w.fetch(f, 100); err != nil || content != png {
				t.Errorf("the second try: %q, %v", content, err)
			}
			w.Stop() // with nil: no file ends an account
			if logged := w.Logged(); strings.Contains(logged, "img_v3") {
				t.Errorf("the log has the key:\n%s", logged)
			}
		})
	}
}

func (w *world) upload(id, name, content string, kind channel.FileKind) (feishutest.Sent, error) {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "0")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	_, err := w.send(channel.Outgoing{
		ClientID: id, Chat: w.app.Owner, Last: true,
		File: &channel.Upload{Path: path, Name: name, Kind: kind, Size: int64(len(content))},
	})
	for _, s := range w.p.Sent() {
		if s.UUID == id {
			return s, err
		}
	}
	return feishutest.Sent{}, err
}

// A picture goes as one unless it is too large for that, or none to the platform; the limit at -1, 0 and +1.
func TestHowFilesAreShown(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	large := strings.Repeat("x", maxImage-len(png)-1)
	for _, c := range []struct {
		id, name, content, shown string
		kind                     channel.FileKind
	}{
		{"1", "a.png", png, "image", channel.Image},
		{"2", "a.png", png + large, "image", channel.Image},
		{"3", "a.png", png + large + "x", "image", channel.Image},
		{"4", "a.png", png + large + "xx", "file", channel.Image},
		{"5", "a.pdf", "%PDF", "file", channel.Document},
		{"6", "a.mp4", "film", "file", channel.Video},
	} {
		if s, err := w.upload(c.id, c.name, c.content, c.kind); err != nil || s.Kind != c.shown || string(w.p.Blob(keyOf(s.Content))) != c.content {
			t.Errorf("%s is %+v, %v", c.id, s, err)
		}
	}
	w.p.Inject(feishutest.Fault{Route: feishutest.UploadImage, Status: 400, Code: 234001})
	if s, err := w.upload("7", "odd.webp", "odd", channel.Image); err != nil || s.Kind != "file" {
		t.Errorf("a picture that is none: %+v, %v", s, err)
	}
	w.Stop()
}

// What becomes of a file that the platform does not simply take. It is seen once, under its own uuid.
func TestUploadOutcomes(t *testing.T) {
	for _, c := range []struct {
		name    string
		route   feishutest.Route
		fault   feishutest.Fault
		refused bool
		works   bool // at the first try
	}{
		{"token no longer good", feishutest.UploadFile, feishutest.Fault{Code: 99991663, Status: 400}, false, true},
		{"refused", feishutest.UploadFile, feishutest.Fault{Code: 234006, Status: 400}, true, false},
		{"no permission for files", feishutest.UploadFile, feishutest.Fault{Code: noScope, Status: 400}, true, false},
		{"overload", feishutest.UploadFile, feishutest.Fault{Status: 503}, false, false},
		{"no answer", feishutest.UploadFile, feishutest.Fault{Cut: true, Late: true}, false, false},
		{"no key", feishutest.UploadFile, feishutest.Fault{Body: `{"code":0,"data":{}}`}, false, false},
		{"shown, and the answer lost", feishutest.Send, feishutest.Fault{Cut: true, Late: true}, false, false},
		{"the message is refused", feishutest.Send, feishutest.Fault{Code: 230002, Status: 400}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, feishutest.Options{})
			w.start()
			c.fault.Route = c.route
			w.p.Inject(c.fault)
			_, err := w.upload("1", "a.txt", "words", channel.Document)
			if (err == nil) != c.works || errors.Is(err, channel.ErrRefused) != c.refused {
				t.Fatalf("the first try: %v", err)
			}
			if s, err := w.upload("1", "a.txt", "words", channel.Document); err != nil || string(w.p.Blob(keyOf(s.Content))) != "words" {
				t.Errorf("the second try: %+v, %v", s, err)
			}
			if sent := w.p.Sent(); len(sent) != 1 {
				t.Errorf("sent %+v", sent)
			}
			w.Stop()
		})
	}
}

// A copy that is gone is refused, and nobody thinks the platform away.
func TestUploadOfNothing(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	before := len(w.Heard())
	_, err := w.send(channel.Outgoing{ClientID: "1", Chat: w.app.Owner, File: &channel.Upload{Path: "/nowhere/0", Name: "a", Size: 1}})
	if !errors.Is(err, channel.ErrRefused) {
		t.Errorf("%v", err)
	}
	for _, c := range w.Heard()[before:] {
		if c != "" {
			t.Errorf("contact %q", c)
		}
	}
	w.Stop()
}

func TestFileNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"a.pdf": {"a.pdf", "pdf"}, "A.DOCX": {"A.DOCX", "doc"}, "b.xls": {"b.xls", "xls"}, "c.pptx": {"c.pptx", "ppt"},
		"x": {"x", "stream"}, "a\"b\\c\r\nd/e.mp4": {"a_b_c__d_e.mp4", "stream"},
	} {
		if got := fileName(name); got != want[0] || fileType(got) != want[1] {
			t.Errorf("%q is %q of the type %s", name, got, fileType(got))
		}
	}
}
