package restart_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/daemon/lock"
	"scv/internal/failpoint"
	"scv/internal/layout"
	"scv/wire"
	"scv/wire/bus"
)

// writer changes settings all the time, and knows what was acknowledged.
type writer struct {
	stop  context.CancelFunc
	done  sync.WaitGroup
	acked []string
}

func (s *site) write() *writer {
	ctx, cancel := context.WithCancel(context.Background())
	w := &writer{stop: cancel}
	w.done.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			name := fmt.Sprintf("w%d", n)
			asking, cancel := context.WithTimeout(ctx, limit)
			err := bus.Do(asking, s.dialer(), func(ctx context.Context, c *bus.Client) error {
				_, err := c.Control(ctx, wire.ChannelSetCommand{Channel: "local", Account: name})
				return err
			})
			cancel()
			if err == nil {
				w.acked = append(w.acked, "local:"+name)
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	return w
}

// held holds what was acknowledged against what the daemon knows.
func (w *writer) held(s *site) {
	s.t.Helper()
	w.stop()
	w.done.Wait()
	status, err := s.status()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, id := range w.acked {
		if !slices.ContainsFunc(status.Components, func(c wire.ComponentHealth) bool { return c.ID == id }) {
			s.t.Errorf("%s was acknowledged and is lost, one of %d", id, len(w.acked))
			return
		}
	}
	s.t.Logf("%d acknowledged changes are there", len(w.acked))
}

// TestKilledAtEveryStep kills whoever comes to a step of a restart, once: the old release, the new one or the
// guard. Whatever is left settles, as soon as somebody starts the daemon again: one release serves, nothing
// acknowledged is lost, and the restart has at most one outcome. The new release changes the store's schema.
func TestKilledAtEveryStep(t *testing.T) {
	program(t, firstRelease)
	program(t, secondRelease)
	for _, managed := range []bool{false, true} {
		for _, point := range failpoint.Restart {
			for _, good := range []bool{true, false} {
				name := fmt.Sprintf("%s/managed=%v/good=%v", point, managed, good)
				t.Run(name, func(t *testing.T) {
					if testing.Short() && (managed || !good) {
						t.Skip("a part is enough under -short")
					}
					t.Parallel()
					killedAt(t, point, managed, good)
				})
			}
		}
	}
}

func killedAt(t *testing.T, point string, managed, good bool) {
	fault := point + "=crash@1!" // one of all the processes dies, the first that comes there
	second := []string{failpoint.NewerSchema, fault}
	if !good {
		second = append(second, failpoint.BrokenVersion)
	}
	s := newSite(t, withFaults(t, program(t, firstRelease), fault), "bin/scv")
	if point == failpoint.RestartBoot || point == failpoint.RestartServing { // of the new release, not of the first start
		s.install(program(t, firstRelease))
	}
	if managed {
		s.startManaged()
	} else {
		s.startAlone()
	}
	s.serves("1.0.0")
	s.install(withFaults(t, program(t, secondRelease), second...))
	w := s.write()
	if err := s.ask(); err != nil && !errors.Is(err, bus.ErrLost) && !errors.Is(err, bus.ErrNoDaemon) {
		t.Logf("the request: %v", err)
	}
	if version := s.settles(managed); !good && version != "1.0.0" {
		t.Errorf("release %s serves", version)
	}
	w.held(s)
	all := s.outcomes()
	if len(all) > 1 || len(all) == 1 && all[0].Step != "done" {
		t.Errorf("outcomes %+v", all)
	}
}

// settles waits until nothing is under way and a release serves, and starts the daemon, as a person would, when
// nobody holds the home for a while.
func (s *site) settles(managed bool) (version string) {
	s.t.Helper()
	idle := time.Now()
	begin := time.Now()
	s.await("it settles", func() bool {
		if s.holder().Alive() {
			idle = time.Now()
		}
		if !managed && time.Since(idle) > 4*time.Second {
			s.startAlone()
			idle = time.Now()
		}
		if left := slices.DeleteFunc(s.files(), func(name string) bool { return name == "guard.log" }); len(left) > 0 {
			return false
		}
		status, err := s.status()
		version = status.Version
		return err == nil && status.Restart == nil && (s.happened() || time.Since(begin) > 30*time.Second)
	})
	return version
}

// happened reports whether a fault has happened.
func (s *site) happened() bool {
	b, err := os.ReadFile(s.hits)
	return err == nil && strings.TrimSpace(string(b)) != ""
}

// holder is who holds the home.
func (s *site) holder() lock.Holder {
	h, err := lock.Read(filepath.Join(s.home, layout.Lock))
	if err != nil {
		return lock.Holder{}
	}
	return h
}
