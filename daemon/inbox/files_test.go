package inbox

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"scv/daemon/channel"
	"scv/store"
)

// A claim knows what came with its message.
func TestFilesAreClaimed(t *testing.T) {
	w := newWorld(t)
	m := from("owner", "m1")
	m.Text, m.Quoted = "", "old"
	m.Files = []channel.File{
		{Kind: channel.Image, Size: 7, Ref: "key-1"},
		{Kind: channel.Document, Name: "a.pdf", Ref: "key-2"},
	}
	w.receive(m)
	want := []store.File{{Kind: "image", Size: 7, Ref: "key-1"}, {Kind: "document", Name: "a.pdf", Ref: "key-2"}}
	if claims := w.claims(); len(claims) != 1 || !reflect.DeepEqual(claims[0].Files, want) || claims[0].Text != "> old\n\n" {
		t.Errorf("claims %+v", claims)
	}
}

// At most sixteen files of a message are taken; at -1, 0 and +1, and the prompt says what was not.
func TestManyFiles(t *testing.T) {
	for n, says := range map[int]string{MaxFiles - 1: "", MaxFiles: "", MaxFiles + 1: "[1 more files came", 3 * MaxFiles: "[32 more files came"} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t)
			m := from("owner", "m1")
			m.Files = make([]channel.File, n)
			for i := range m.Files {
				m.Files[i] = channel.File{Kind: channel.Image, Ref: fmt.Sprint(i)}
			}
			w.receive(m)
			claims := w.claims()
			if len(claims) != 1 || len(claims[0].Files) != min(n, MaxFiles) {
				t.Fatalf("claims %+v", claims)
			}
			if text := claims[0].Text; !strings.HasPrefix(text, m.Text) || says == "" && text != m.Text || !strings.Contains(text, says) {
				t.Errorf("prompt %q", text)
			}
		})
	}
}

// What a platform says of a file is somebody else's word, and must not keep a message from being taken.
func TestOddFiles(t *testing.T) {
	w := newWorld(t)
	m := from("owner", "m1")
	m.Files = []channel.File{
		{Kind: channel.Document, Name: "\xff" + strings.Repeat("ü", maxFileName), Size: -5, Ref: "\xff"},
		{Kind: "\xff", Ref: strings.Repeat("r", maxFileRef+1)},
		{Kind: channel.Document, Ref: strings.Repeat("r", maxFileRef)},
	}
	w.receive(m)
	claims := w.claims()
	if len(claims) != 1 || len(claims[0].Files) != 3 {
		t.Fatalf("claims %+v", claims)
	}
	files := claims[0].Files
	if n := len(files[0].Name); n > maxFileName || n < maxFileName-1 || files[0].Size != 0 || files[0].Ref != "" {
		t.Errorf("first %+v", files[0])
	}
	if files[1].Ref != "" || len(files[2].Ref) != maxFileRef {
		t.Errorf("others %+v", files[1:])
	}
}
