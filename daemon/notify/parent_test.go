package notify_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"scv/daemon/notify"
	"scv/wire"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	repeat := func(n int) string { return strings.TrimSuffix(strings.Repeat("i/s/h;", n), ";") }
	cases := []struct {
		name, parent string
		want         int // elements, -1 for a refusal
	}{
		{"none", "", 0},
		{"one", "i/s/claude-abcdef", 1},
		{"a session may be empty", "i//claude-abcdef", 1},
		{"two", "i/s/a-1;j/t/b-2", 2},
		{"a loop is only a repetition", "i/s/a;i/s/b;i/s/a", 3},
		{"the most", repeat(64), 64},
		{"one too many", repeat(65), -1},
		{"10,000 entries", repeat(10000), -1},
		{"64 KiB", "i/s/" + strings.Repeat("h", 64<<10-4), 1},
		{"one byte too long", "i/s/" + strings.Repeat("h", 64<<10-3), -1},
		{"two parts", "i/s", -1},
		{"four parts", "i/s/h/x", -1},
		{"no handle", "i/s/", -1},
		{"no instance", "/s/h", -1},
		{"an empty component", "i/s/h;", -1},
		{"only separators", ";;;", -1},
	}
	for _, c := range cases {
		chain, err := notify.Parse(c.parent)
		var refusal *wire.Error
		switch {
		case c.want < 0 && (!errors.As(err, &refusal) || refusal.Code != wire.InvalidRequest || chain != nil):
			t.Errorf("%s: got %d elements, %v; want a refusal", c.name, len(chain), err)
		case c.want >= 0 && (err != nil || len(chain) != c.want):
			t.Errorf("%s: got %d elements, %v; want %d", c.name, len(chain), err, c.want)
		}
	}
	chain, _ := notify.Parse("i/s/a-1;j/t/b-2")
	want := []notify.Element{{Instance: "i", Session: "s", Handle: "a-1"}, {Instance: "j", Session: "t", Handle: "b-2"}}
	if diff := cmp.Diff(want, chain); diff != "" {
		t.Error(diff)
	}
}

func TestOrigin(t *testing.T) {
	in := func(handles ...string) func(string, string) bool {
		return func(handle, session string) bool { return session == "s" && slices.Contains(handles, handle) }
	}
	cases := []struct {
		name, parent string
		belongs      func(handle, session string) bool
		want         string
	}{
		{"the outermost", "us/s/a;us/s/b", in("a", "b"), "a"},
		{"the outer one has ended", "us/s/a;us/s/b", in("b"), "b"},
		{"an outer one of another instance", "them/s/a;us/s/b", in("a", "b"), "b"},
		{"another's handle in front", "us/s/other;us/s/b", in("b"), "b"},
		{"only another's handle", "us/s/other", in("b"), ""},
		{"the right handle, another session", "us/x/b", in("b"), ""},
		{"an outsider with a stolen chain", "us/s/a;us/s/b", in(), ""},
		{"a loop", "us/s/other;us/s/other;us/s/b;us/s/other", in("b"), "b"},
	}
	for _, c := range cases {
		chain, err := notify.Parse(c.parent)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := notify.Origin(chain, "us", c.belongs)
		if got.Handle != c.want || ok != (c.want != "") {
			t.Errorf("%s: got %+v, %v; want %q", c.name, got, ok, c.want)
		}
	}
}
