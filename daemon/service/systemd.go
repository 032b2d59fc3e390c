package service

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// systemd is the systemd manager of one user.
type systemd struct {
	caller
	unit, file string
}

func newSystemd(p Place) *systemd {
	s := &systemd{caller: caller{p.Procs, "systemctl", withRuntime(p.Environ, p.UID)}, unit: "scv.service"}
	if p.Instance != "" {
		s.unit = "scv-" + p.Instance + ".service"
	}
	config := valueOf(p.Environ, "XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(p.User, ".config")
	}
	s.file = filepath.Join(config, "systemd", "user", s.unit)
	return s
}

// withRuntime adds the folder by which the user's manager is found, where a shell of su or cron lacks it.
func withRuntime(environ []string, uid int) []string {
	folder := "/run/user/" + strconv.Itoa(uid)
	if _, err := os.Stat(folder); err != nil || valueOf(environ, "XDG_RUNTIME_DIR") != "" {
		return environ
	}
	return append(environ[:len(environ):len(environ)], "XDG_RUNTIME_DIR="+folder)
}

func (s *systemd) Name() string { return "systemd" }
func (s *systemd) Unit() string { return s.unit }
func (s *systemd) File() string { return s.file }

func (s *systemd) Advice() (see, forget string) {
	return "systemctl --user status " + s.unit, "systemctl --user disable " + s.unit
}

func (s *systemd) Reach(ctx context.Context) error {
	if _, err := s.ctl(ctx, "show", "--property=Version"); err != nil {
		return fmt.Errorf("the systemd of this user is not reached: %w", err)
	}
	return nil
}

func (s *systemd) ctl(ctx context.Context, args ...string) (string, error) {
	return s.call(ctx, append([]string{"--user"}, args...)...)
}

func (s *systemd) State(ctx context.Context) (State, error) {
	text, err := s.ctl(ctx, "show", "--property=LoadState,ActiveState,SubState,MainPID,Result,NRestarts", s.unit)
	if err != nil {
		return State{}, err
	}
	said := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		said[name] = value
	}
	st := State{Known: said["LoadState"] == "loaded"}
	st.PID, _ = strconv.Atoi(said["MainPID"])
	st.Ended, _ = strconv.Atoi(said["NRestarts"])
	st.Words = said["ActiveState"] + " (" + said["SubState"] + ")"
	if result := said["Result"]; result != "" && result != "success" {
		st.Words += ", " + result
	}
	switch said["ActiveState"] {
	case "active", "activating", "deactivating", "reloading", "refreshing":
		st.Active = true
	}
	return st, nil
}

func (s *systemd) Start(ctx context.Context) error {
	return s.all(ctx, []string{"daemon-reload"}, []string{"enable", "--quiet", s.unit}, []string{"start", "--no-block", s.unit})
}

func (s *systemd) Stop(ctx context.Context) error { return s.all(ctx, []string{"stop", s.unit}) }

func (s *systemd) Restart(ctx context.Context) error {
	return s.all(ctx, []string{"daemon-reload"}, []string{"restart", "--no-block", s.unit})
}

func (s *systemd) all(ctx context.Context, calls ...[]string) error {
	for _, args := range calls {
		if _, err := s.ctl(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// Linger reports whether what belongs to a user goes on when he logs out, and starts with the machine.
func Linger(ctx context.Context, p Place, user string) (on, known bool) {
	c := caller{p.Procs, "loginctl", p.Environ}
	if said, err := c.call(ctx, "show-user", user, "--property=Linger"); err == nil {
		return strings.TrimSpace(said) == "Linger=yes", true
	}
	if _, err := os.Stat("/var/lib/systemd/linger"); err != nil || user == "" || strings.Contains(user, "/") {
		return false, false
	}
	_, err := os.Stat("/var/lib/systemd/linger/" + user)
	return err == nil, true
}
