package service

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// launchd is the launchd of one user, with an agent in its terms.
type launchd struct {
	caller
	label, file, uid string
}

func newLaunchd(p Place) *launchd {
	l := &launchd{caller: caller{p.Procs, "launchctl", p.Environ}, label: "scv", uid: strconv.Itoa(p.UID)}
	if p.Instance != "" {
		l.label += "." + p.Instance
	}
	l.file = filepath.Join(p.User, "Library", "LaunchAgents", l.label+".plist")
	return l
}

func (l *launchd) Name() string { return "launchd" }
func (l *launchd) Unit() string { return l.label }
func (l *launchd) File() string { return l.file }

func (l *launchd) Advice() (see, forget string) {
	return "launchctl print " + l.domain() + "/" + l.label, "rm '" + strings.ReplaceAll(l.file, "'", `'\''`) + "'"
}

// domain is that of the user's own session on the screen.
func (l *launchd) domain() string { return "gui/" + l.uid }

func (l *launchd) Reach(ctx context.Context) error {
	if _, err := l.call(ctx, "print", l.domain()); err != nil {
		return fmt.Errorf("the launchd of this user's session is not reached (log in on the screen of this machine): %w", err)
	}
	return nil
}

func (l *launchd) State(ctx context.Context) (State, error) {
	text, err := l.call(ctx, "print", l.domain()+"/"+l.label)
	switch {
	case errors.Is(err, errNone) || ctx.Err() != nil:
		return State{}, err
	case err != nil: // as far as can be told, it has none
		return State{Words: "not loaded"}, nil
	}
	st := State{Known: true, Active: true, Words: "loaded"}
	for line := range strings.Lines(text) { // the unit's own lines come first, then those of what belongs to it
		name, value, is := strings.Cut(strings.TrimSpace(line), " = ")
		switch {
		case is && name == "pid" && st.PID == 0:
			st.PID, _ = strconv.Atoi(value)
		case is && name == "state" && st.Words == "loaded":
			st.Words = value
		case is && name == "runs" && st.Ended == 0:
			runs, _ := strconv.Atoi(value)
			st.Ended = max(0, runs-1)
		}
	}
	return st, nil
}

// Start loads the agent, which starts it. One that is loaded goes on as it was.
func (l *launchd) Start(ctx context.Context) error {
	if _, err := l.call(ctx, "enable", l.domain()+"/"+l.label); err != nil {
		return err
	}
	st, err := l.State(ctx)
	if err == nil && st.Known {
		_, err = l.call(ctx, "kickstart", l.domain()+"/"+l.label)
	} else if err == nil {
		_, err = l.call(ctx, "bootstrap", l.domain(), l.file)
	}
	return err
}

const (
	unloadLimit = 30 * time.Second // for an agent to be gone, which launchd does not wait for
	unloadPoll  = 100 * time.Millisecond
)

// Stop unloads the agent, and waits until it is gone.
func (l *launchd) Stop(ctx context.Context) error {
	if _, err := l.call(ctx, "bootout", l.domain()+"/"+l.label); err != nil {
		if st, _ := l.State(ctx); st.Known { // else it was gone already, or is about to be
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, unloadLimit)
	defer cancel()
	for {
		st, err := l.State(ctx)
		if err != nil || !st.Known {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("launchd does not let go of %s: %s", l.label, st.Words)
		case <-time.After(unloadPoll):
		}
	}
}

// Restart loads the agent anew, so that it is as its file says now.
func (l *launchd) Restart(ctx context.Context) error {
	if err := l.Stop(ctx); err != nil {
		return err
	}
	return l.Start(ctx)
}

// AbandonProcessGroup: on a stop the daemon ends its runs itself.
const plistText = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- SCV, kept running by launchd. Written by: scv start
     Another start writes it anew when the program, the home or the PATH has changed, unless you have edited it. -->
<plist version="1.0">
<dict>
	<key>Label</key><string>%s</string>
	<key>ProgramArguments</key><array><string>%s</string><string>run</string></array>
	<key>EnvironmentVariables</key>
	<dict>
%s	</dict>
	<key>RunAtLoad</key><true/>
	<key>KeepAlive</key><true/>
	<key>ThrottleInterval</key><integer>1</integer>
	<key>ExitTimeOut</key><integer>%s</integer>
	<key>AbandonProcessGroup</key><true/>
</dict>
</plist>
`

// Describe writes the property list.
func (l *launchd) Describe(w Wanted) (string, error) {
	for _, text := range []string{w.Program, w.Home, w.Path} {
		if err := plain(text); err != nil {
			return "", err
		}
	}
	environ := ""
	for _, v := range []struct{ name, value string }{{"SCV_HOME", w.Home}, {"PATH", w.Path}} {
		if v.value != "" {
			environ += "\t\t<key>" + v.name + "</key><string>" + inXML(v.value) + "</string>\n"
		}
	}
	return fmt.Sprintf(plistText, inXML(l.label), inXML(w.Program), environ, stopSeconds), nil
}

func (l *launchd) seal() (before, after string) {
	return "<!-- scv start knows its own work by this: ", " -->\n"
}

func (l *launchd) parts() []part {
	return []part{{"ProgramArguments", "the program"}, {"<key>SCV_HOME", "the home"}, {"<key>PATH", "the PATH"}}
}

func inXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder takes everything
	return b.String()
}
