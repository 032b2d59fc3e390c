package transport_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"scv/daemon/transport"
	"scv/wire"
	"scv/wire/bus"
)

// soon is how long a removed socket may stay away, and a little for a busy machine.
const soon = 5 * time.Second

// awaitDaemon asks the daemon at path until it answers.
func awaitDaemon(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(soon); ; settle() {
		ctx, cancel := context.WithTimeout(t.Context(), soon/10) // nobody answers at another's socket
		c, err := bus.Connect(ctx, bus.SocketDialer(path))
		if err == nil {
			_, err = c.Control(ctx, wire.StatusCommand{})
			c.Close()
		}
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the daemon is not found again: %v", err)
		}
	}
}

// TestARemovedSocketComesBack takes the socket away in every way a cleaner of old files, or a person,
// may: those who are connected notice nothing, and others find the daemon again.
func TestARemovedSocketComesBack(t *testing.T) {
	folder := t.TempDir() + "/short"
	path := folder + "/scv.sock"
	h := open(t, transport.Options{SocketPath: path}, control(status))
	c := client(t, bus.SocketDialer(path))
	for what, remove := range map[string]func() error{
		"the file":   func() error { return os.Remove(path) },
		"the folder": func() error { return os.RemoveAll(folder) },
		"another's socket in its place": func() error {
			other, err := net.ListenUnix("unix", &net.UnixAddr{Name: path + "2", Net: "unix"})
			if err != nil {
				return err
			}
			t.Cleanup(func() { other.Close() })
			return os.Rename(path+"2", path)
		},
	} {
		if err := remove(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		awaitDaemon(t, path)
		if _, err := c.Control(t.Context(), wire.StatusCommand{}); err != nil {
			t.Fatalf("%s: the connection that stood was cut: %v", what, err)
		}
		socket, err := os.Lstat(path)
		if err != nil || socket.Mode().Perm() != 0o600 {
			t.Errorf("%s: the new socket: %v, %v", what, socket.Mode(), err)
		}
		if info, err := os.Lstat(folder); err != nil || info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s: its folder: %v, %v", what, info.Mode(), err)
		}
	}
	h.Server.Close()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the new socket stays after Close")
	}
}

// TestASocketIsNotMadeAnewWhereItMayNotBe: neither in place of a file that is no socket, nor in a folder
// that is open to others, nor where another daemon may have the home; and once it may, it is.
func TestASocketIsNotMadeAnewWhereItMayNotBe(t *testing.T) {
	folder := t.TempDir() + "/short"
	path := folder + "/scv.sock"
	entitled, asked := make(chan error, 1), make(chan struct{})
	h := open(t, transport.Options{SocketPath: path, Entitled: func() error {
		select {
		case asked <- struct{}{}:
			return <-entitled
		default:
			return errors.New("nobody waits")
		}
	}}, control(status))
	refused := func(what string, answer error) {
		t.Helper()
		for range 2 { // when it is asked again, the first try is over
			entitled <- answer
			<-asked
		}
		if _, err := bus.Connect(t.Context(), bus.SocketDialer(path)); !errors.Is(err, bus.ErrNoDaemon) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refused("another's home", errors.New("another's"))
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	refused("an open folder", nil)
	if err := errors.Join(os.Chmod(folder, 0o700), os.WriteFile(path, []byte("precious"), 0o600)); err != nil {
		t.Fatal(err)
	}
	refused("a file", nil)
	if kept, err := os.ReadFile(path); string(kept) != "precious" || err != nil {
		t.Errorf("the file in its place: %q, %v", kept, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	entitled <- nil
	back := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		select {
		case <-asked:
		case <-back: // the try under way when the file went has done it already
		}
	})
	awaitDaemon(t, path)
	close(back)
	asking.Wait()
	h.Server.Close()
}

// TestCloseLeavesAnothersSocket: what a later daemon put there is not ours to remove.
func TestCloseLeavesAnothersSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scv.sock")
	h := open(t, transport.Options{SocketPath: path, Entitled: func() error { return errors.New("another's") }}, control(status))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	h.Server.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("another's socket was removed: %v", err)
	}
}

// TestLeaveKeepsTheQueue: who connects while no program serves waits in the socket, and the next one answers.
func TestLeaveKeepsTheQueue(t *testing.T) {
	path := t.TempDir() + "/scv.sock"
	h := open(t, transport.Options{SocketPath: path}, control(status))
	c := client(t, bus.SocketDialer(path))
	if _, err := c.Control(t.Context(), wire.StatusCommand{}); err != nil {
		t.Fatal(err)
	}
	left := h.Leave()
	if left == nil {
		t.Fatal("the socket was not kept")
	}
	select {
	case <-c.Closed():
	case <-time.After(patience):
		t.Fatal("a client of the server that left is still connected")
	}
	answered := make(chan error, 5)
	for range cap(answered) {
		go func() {
			answered <- bus.Do(t.Context(), bus.SocketDialer(path), func(ctx context.Context, c *bus.Client) error {
				_, err := c.Control(ctx, wire.StatusCommand{})
				return err
			})
		}()
	}
	select {
	case err := <-answered:
		t.Fatalf("nobody serves, and a client was told %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	next, err := transport.New(t.Context(), transport.Options{SocketPath: path, Listener: left, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(next.Close)
	served, err := bus.Serve(t.Context(), next.DaemonConn, next.DaemonPassword(), "2.0.0", control(status), quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(served.Close)
	if err := next.Open(identify); err != nil {
		t.Fatal(err)
	}
	for range cap(answered) {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
}
