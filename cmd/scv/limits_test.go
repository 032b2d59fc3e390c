package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"scv/wire"
	"scv/wire/bus"
)

// TestLimitsToTheByte: one byte below a limit and the limit itself are accepted, one byte more is refused
// in words, by the real daemon.
func TestLimitsToTheByte(t *testing.T) {
	d := startDaemon(t, newHome(t))
	c := d.client(t)
	sized := func(n int) string { return strings.Repeat("x", n) }
	r := newRaw(t, d.home)
	defer r.close()
	for _, limit := range []struct {
		what string
		max  int
		code wire.Code
		ask  func(n int) error
	}{
		{"request", wire.MaxRequest, wire.InvalidRequest, func(n int) error { return padded(t, r, n) }},
		{"question", wire.MaxQuestion, wire.InvalidRequest, func(n int) error {
			status, err := c.Control(t.Context(), wire.ConfirmAskCommand{Question: sized(n)})
			if err == nil {
				_, err = c.ConfirmWithdraw(t.Context(), status.Confirm.ID)
			}
			return err
		}},
		{"chat text", wire.MaxChatText, wire.InvalidRequest, func(n int) error {
			_, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: randomID(), Text: sized(n)})
			return err
		}},
		{"message id", 64, wire.InvalidRequest, func(n int) error {
			_, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: sized(n), Text: "hello"})
			return err
		}},
		{"account name", 64, wire.ComponentError, func(n int) error {
			_, err := c.Control(t.Context(), wire.ChannelSetCommand{Channel: "local", Account: sized(n)})
			return err
		}},
		{"workspace path", 4095, wire.ComponentError, func(n int) error {
			path := deepFolder(t, n)
			_, err := c.AccountSet(t.Context(), wire.AccountSet{Channel: "local", Account: "default", Workspace: &path})
			return err
		}},
	} {
		for _, n := range []int{limit.max - 1, limit.max} {
			if err := limit.ask(n); err != nil {
				t.Errorf("%s of %d bytes: %.300v", limit.what, n, err)
			}
		}
		for _, n := range []int{limit.max + 1, limit.max + 4096} {
			refused, ok := asRefusal(limit.ask(n))
			if !ok || refused.Code != limit.code {
				t.Errorf("%s of %d bytes: %v, want %s", limit.what, n, refused, limit.code)
			} else if len(refused.Text) > wire.MaxRefusal {
				t.Errorf("%s of %d bytes is refused in %d bytes", limit.what, n, len(refused.Text))
			}
		}
	}
	d.terminate(t)
}

// padded asks for a status in a request of n bytes.
func padded(t *testing.T, r *raw, n int) error {
	t.Helper()
	const ask = `{"action":"status"}`
	got, err := r.ask(wire.SubjectControl, ask+strings.Repeat(" ", n-len(ask)))
	if err != nil {
		t.Fatal(err)
	}
	if got.code != "" {
		return wire.Refuse(wire.Code(got.code), "%s", got.head)
	}
	return nil
}

// deepFolder makes a folder whose path has n bytes; a path longer than the system takes is only named.
func deepFolder(t *testing.T, n int) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folder, err := unix.Open(path, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for len(path) < n && err == nil {
		name := strings.Repeat("d", min(200, n-len(path)-1))
		if rest := n - len(path) - 1 - len(name); rest == 1 {
			name = name[1:] // a slash alone adds no folder
		}
		path += "/" + name
		folder, err = deeper(folder, name)
	}
	if err == nil {
		err = unix.Close(folder)
	}
	if err != nil || len(path) != n {
		t.Fatalf("cannot make a path of %d bytes: %d, %v", n, len(path), err)
	}
	return path
}

// deeper makes a folder in an open one and opens it: no path is too long for that.
func deeper(in int, name string) (int, error) {
	defer unix.Close(in)
	if err := unix.Mkdirat(in, name, 0o700); err != nil {
		return -1, err
	}
	return unix.Openat(in, name, unix.O_DIRECTORY|unix.O_RDONLY, 0)
}

// TestRefusalsAreSentences: however long a word of the request is, the refusal that quotes it is short.
func TestRefusalsAreSentences(t *testing.T) {
	d := startDaemon(t, newHome(t))
	c := d.client(t)
	long := strings.Repeat("\u202e", 100_000)
	for what, ask := range map[string]func(*bus.Client) error{
		"account": func(c *bus.Client) error {
			_, err := c.Control(t.Context(), wire.ChannelSetCommand{Channel: long, Account: "x"})
			return err
		},
		"log out": func(c *bus.Client) error {
			_, err := c.Control(t.Context(), wire.ChannelLogoutCommand{Channel: "local", Account: long})
			return err
		},
		"handle": func(c *bus.Client) error {
			_, err := c.Control(t.Context(), wire.DelegationKillCommand{Handle: &long})
			return err
		},
		"question": func(c *bus.Client) error {
			_, err := c.ConfirmShow(t.Context(), long)
			return err
		},
		"agent": func(c *bus.Client) error {
			_, err := c.AccountSet(t.Context(), wire.AccountSet{Channel: "local", Account: "default", Agent: &long})
			return err
		},
		"workspace": func(c *bus.Client) error {
			path := "/" + long
			_, err := c.AccountSet(t.Context(), wire.AccountSet{Channel: "local", Account: "default", Workspace: &path})
			return err
		},
		"parent": func(c *bus.Client) error {
			_, err := c.Control(t.Context(), wire.ConfirmAskCommand{Question: "q", Parent: &long})
			return err
		},
		"chat": func(c *bus.Client) error {
			_, err := c.ChatAttach(t.Context(), wire.ChatAttach{Account: long})
			return err
		},
	} {
		refused, ok := asRefusal(ask(c))
		if !ok || len(refused.Text) > wire.MaxRefusal || refused.Text == "" {
			t.Errorf("%s: %t, %d bytes: %.100v", what, ok, len(refused.Text), refused)
		}
	}
	d.terminate(t)
	if info, err := os.Stat(filepath.Join(filepath.Dir(d.home), "log")); err != nil || info.Size() > 64<<10 {
		t.Errorf("the log has %d bytes: %v", info.Size(), err)
	}
}
