package wechat

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"scv/daemon/channel"
	"scv/daemon/channel/wechat/wechattest"
)

func (w *world) fetch(f channel.File, limit int64) ([]byte, error) {
	var out bytes.Buffer
	err := w.adapter.Fetch(w.t.Context(), f, &out, limit)
	return out.Bytes(), err
}

var letters = bytes.Repeat([]byte("letters "), 20_000)

// Files come as they were sent, by either of the two ways to name them.
func TestFilesComeIn(t *testing.T) {
	for _, bare := range []bool{false, true} {
		w := newWorld(t, wechattest.Options{Bare: bare})
		w.start()
		w.say("look", wechattest.Image([]byte("pixels")), wechattest.PlainImage([]byte("plain")), wechattest.File("a.txt", letters),
			wechattest.Voice([]byte("silk"), ""), wechattest.Video([]byte("moving")))
		m := w.Await(1)[0]
		want := []struct {
			kind channel.FileKind
			data []byte
		}{
			{channel.Image, []byte("pixels")},
			{channel.Image, []byte("plain")},
			{channel.Document, letters},
			{channel.Voice, []byte("silk")},
			{channel.Video, []byte("moving")},
		}
		if len(m.Files) != len(want) {
			t.Fatalf("files %+v", m.Files)
		}
		for i, f := range m.Files {
			got, err := w.fetch(f, 1<<20)
			if err != nil || f.Kind != want[i].kind || !bytes.Equal(got, want[i].data) {
				t.Errorf("bare %v, file %d: %d bytes of a %s, %v", bare, i, len(got), f.Kind, err)
			}
			if got, err := w.fetch(f, int64(len(want[i].data))-1); !errors.Is(err, channel.ErrTooLarge) || len(got) >= len(want[i].data) {
				t.Errorf("bare %v, file %d: %d bytes, %v", bare, i, len(got), err)
			}
		}
		if f := m.Files[2]; f.Name != "a.txt" || f.Size != int64(len(letters)) {
			t.Errorf("file %+v", f)
		}
		for _, r := range w.p.Requests(wechattest.Download) {
			if r.Header.Get("Authorization") != "" {
				t.Error("the CDN is told the token")
			}
		}
		w.Stop()
	}
}

// What a fetch that goes wrong means.
func TestFetchesThatFail(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   wechattest.Fault
		refused bool
	}{
		{"gone", wechattest.Fault{Status: 404}, true},
		{"forbidden", wechattest.Fault{Status: 403}, true},
		{"too many", wechattest.Fault{Status: 429}, false},
		{"overload", wechattest.Fault{Status: 503}, false},
		{"elsewhere", wechattest.Fault{Status: 302, Header: map[string][]string{"Location": {"https://evil.qq.com/"}}}, false},
		{"cut", wechattest.Fault{Cut: true}, false},
		{"half of it", wechattest.Fault{Clip: true}, false},
		{"not what was sent", wechattest.Fault{Body: strings.Repeat("x", 32)}, true},
		{"not whole blocks", wechattest.Fault{Body: "x"}, true},
	} {
		w := newWorld(t, wechattest.Options{})
		w.start()
		w.say("", wechattest.File("a.txt", letters))
		f := w.Await(1)[0].Files[0]
		c.fault.Route = wechattest.Download
		w.p.Inject(c.fault)
		_, err := w.fetch(f, 1<<20)
		if err == nil || errors.Is(err, channel.ErrRefused) != c.refused || strings.Contains(err.Error(), "param") {
			t.Errorf("%s: %v", c.name, err)
		}
		if got, err := w.fetch(f, 1<<20); err != nil || !bytes.Equal(got, letters) {
			t.Errorf("%s, the second try: %d bytes, %v", c.name, len(got), err)
		}
		if slices.Contains(w.p.Dialed(), "evil.qq.com") {
			t.Errorf("%s: it went where an answer said", c.name)
		}
		w.Stop()
	}
}

// Anybody can write where a file is said to be: only the platform's own places are asked.
func TestPlacesOfFiles(t *testing.T) {
	local, err := StandIn("http://127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string][2]bool{ // for the platform, for its stand-in
		"https://novac2c.cdn.weixin.qq.com/c2c/download?a=b": {true, false},
		"https://qq.com/":                     {true, false},
		"https://A.QQ.com:443/":               {true, false},
		"http://a.qq.com/":                    {false, false},
		"https://a.qq.com:8443/":              {false, false},
		"https://u:p@a.qq.com/":               {false, false},
		"https://evilqq.com/":                 {false, false},
		"https://qq.com.evil.example/":        {false, false},
		"https://127.0.0.1/":                  {false, false},
		"http://127.0.0.1:8080/c2c/download":  {false, true},
		"http://127.0.0.1:8081/c2c/download":  {false, false},
		"http://u@127.0.0.1:8080/":            {false, false},
		"https://127.0.0.1:8080/c2c/download": {false, false},
		"file:///etc/passwd":                  {false, false},
		"//a.qq.com/":                         {false, false},
		"":                                    {false, false},
		":":                                   {false, false},
	} {
		for i, p := range []Platform{{}, local} {
			if _, err := p.file(raw); (err == nil) != want[i] {
				t.Errorf("%q, stand-in %v: %v", raw, i == 1, err)
			}
		}
	}
	w := newWorld(t, wechattest.Options{})
	w.make()
	for _, ref := range []string{`{"url":"https://evil.example/"}`, `{"param":"p","key":"xyz"}`, `{`, ``} {
		if _, err := w.fetch(channel.File{Ref: ref}, 100); !errors.Is(err, channel.ErrRefused) {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if dialed := w.p.Dialed(); len(dialed) != 0 {
		t.Errorf("it asked %q", dialed)
	}
}

func (w *world) file(name string, data []byte, kind channel.FileKind) *channel.Upload {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "file")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return &channel.Upload{Path: path, Name: name, Kind: kind, Size: int64(len(data))}
}

func (w *world) sendFile(id string, f *channel.Upload) error {
	_, err := w.send(channel.Outgoing{ClientID: id, Chat: w.bot.Owner, Kind: channel.Reply, File: f})
	return err
}

// Files go out as they are, each shown as what it is.
func TestFilesGoOut(t *testing.T) {
	for _, bare := range []bool{false, true} {
		w := newWorld(t, wechattest.Options{Bare: bare})
		w.make()
		for id, f := range map[string]*channel.Upload{
			"image": w.file("a.png", []byte("pixels"), channel.Image), "file": w.file("a.txt", letters, channel.Document),
			"video": w.file("a.mp4", []byte("moving"), channel.Video), "voice": w.file("a.ogg", []byte("spoken"), channel.Voice),
		} {
			if err := w.sendFile(id, f); err != nil {
				t.Fatalf("bare %v, %s: %v", bare, id, err)
			}
			data, _ := os.ReadFile(f.Path)
			sent := w.p.Sent()
			s := sent[len(sent)-1]
			kind, name := id, ""
			if id == "file" || id == "voice" {
				kind, name = "file", f.Name
			}
			if s.ClientID != id || s.Kind != kind || s.Token != "" || s.File == nil || s.File.Name != name || !bytes.Equal(s.File.Data, data) {
				t.Errorf("bare %v: sent %+v", bare, s)
			}
		}
		if got := w.adapter.MaxUpload(channel.Document); got != 25<<20 {
			t.Errorf("at most %d bytes", got)
		}
	}
}

// A file spends the token only where it is all of an answer: after words it comes as one more message.
func TestTokensOfFiles(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.start()
	for _, alone := range []bool{true, false} {
		before := len(w.Taken())
		w.say("hello")
		out := w.answer(fmt.Sprint(alone), w.Await(before + 1)[before], "")
		out.File, out.First = w.file("a.txt", letters, channel.Document), alone
		if _, err := w.send(out); err != nil {
			t.Fatal(err)
		}
		sent := w.p.Sent()
		want := ""
		if alone {
			want = out.ReplyHandle
		}
		if s := sent[len(sent)-1]; s.Token != want || s.Dropped {
			t.Errorf("alone %v: sent %+v", alone, s)
		}
	}
	w.Stop()
}

// What an upload that goes wrong means; a retry shows the file once.
func TestUploadsThatFail(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   wechattest.Fault
		refused bool
	}{
		{"no place for it", wechattest.Fault{Route: wechattest.UploadURL, Ret: -2}, true},
		{"a bad request", wechattest.Fault{Route: wechattest.UploadURL, Status: 400}, true},
		{"unauthorized", wechattest.Fault{Route: wechattest.UploadURL, Status: 401}, false},
		{"no answer", wechattest.Fault{Route: wechattest.UploadURL, Body: "{}"}, false},
		{"a foreign place", wechattest.Fault{Route: wechattest.UploadURL, Body: `{"upload_full_url":"https://evil.example/"}`}, true},
		{"the CDN refuses", wechattest.Fault{Route: wechattest.Upload, Status: 413}, true},
		{"the CDN is busy", wechattest.Fault{Route: wechattest.Upload, Status: 502}, false},
		{"the CDN sends it elsewhere", wechattest.Fault{Route: wechattest.Upload, Status: 307, Header: map[string][]string{"Location": {"https://evil.example/"}}}, false},
		{"the CDN names nothing", wechattest.Fault{Route: wechattest.Upload, Body: "ok"}, false},
		{"cut", wechattest.Fault{Route: wechattest.Upload, Cut: true}, false},
		{"sent, and the answer lost", wechattest.Fault{Route: wechattest.Send, Cut: true, Late: true}, false},
	} {
		w := newWorld(t, wechattest.Options{})
		w.make()
		w.p.Inject(c.fault)
		f := w.file("a.txt", letters, channel.Document)
		if err := w.sendFile("1", f); err == nil || errors.Is(err, channel.ErrRefused) != c.refused || strings.Contains(err.Error(), "param") {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := w.sendFile("1", f); err != nil {
			t.Errorf("%s, the second try: %v", c.name, err)
		}
		if sent := w.p.Sent(); len(sent) != 1 {
			t.Errorf("%s: it was sent %d times", c.name, len(sent))
		}
		if slices.Contains(w.p.Dialed(), "evil.example") {
			t.Errorf("%s: it went where an answer said", c.name)
		}
	}
}

// A file that is not there any more, is empty or has changed is given up; nothing is sent of it.
func TestFilesThatCannotGoOut(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.make()
	gone, changed := w.file("a", letters, channel.Document), w.file("a", letters, channel.Document)
	if err := errors.Join(os.Remove(gone.Path), os.WriteFile(changed.Path, []byte("less"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*channel.Upload{
		"gone": gone, "changed": changed, "empty": w.file("a", nil, channel.Document),
		"too large": {Path: "/dev/zero", Size: maxUpload + 1, Kind: channel.Document},
	} {
		if err := w.sendFile(name, f); !errors.Is(err, channel.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(w.p.Requests(wechattest.UploadURL)); n != 0 {
		t.Errorf("%d uploads", n)
	}
}
