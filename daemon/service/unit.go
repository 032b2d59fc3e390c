package service

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The unit of systemd. KillMode=process and Delegate=yes: on a stop the daemon ends its runs itself, and keeps
// them in cgroups below its own. It has no limit of starts: the daemon knows by itself when to go back. The
// watchdog waits longer than the guard of a restart, which may act first.
const unitText = `# SCV, kept running by systemd. Written by: scv start
# Another start writes it anew when the program, the home or the PATH has changed, unless you have edited it.
# Better leave it as it is and put what you want into a file of your own: systemctl --user edit %s
[Unit]
Description=SCV, between your chats and your coding agents
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart=%s run
%sRestart=always
RestartSec=1
KillMode=process
TimeoutStopSec=%s
WatchdogSec=60
Delegate=yes

[Install]
WantedBy=default.target
`

// Describe writes the unit.
func (s *systemd) Describe(w Wanted) (string, error) {
	for _, text := range []string{w.Program, w.Home, w.Path} {
		if err := plain(text); err != nil {
			return "", err
		}
	}
	if strings.ContainsAny(w.Program, "\"'\\") {
		return "", fmt.Errorf("systemd starts no program with quotes or a backslash in its path: install scv somewhere else than %q", w.Program)
	}
	environ := ""
	if w.Home != "" {
		environ += "Environment=" + unitWord("SCV_HOME="+w.Home) + "\n"
	}
	if w.Path != "" {
		environ += "Environment=" + unitWord("PATH="+w.Path) + "\n"
	}
	program := unitWord(w.Program)
	if strings.Contains(w.Program, "$") {
		program = ":" + program // no variable is looked for in it
	}
	return fmt.Sprintf(unitText, s.unit, program, environ, stopSeconds), nil
}

func (s *systemd) seal() (before, after string) {
	return "# scv start knows its own work by this: ", "\n"
}

func (s *systemd) parts() []part {
	return []part{{"ExecStart=", "the program"}, {"SCV_HOME=", "the home"}, {"PATH=", "the PATH"}}
}

// unitWord is one word of a unit's line: in quotes, with C escapes, and without a specifier (systemd.syntax(7)).
func unitWord(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(text) + `"`
}

// plain reports what in a text no manager's file can hold.
func plain(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("cannot describe %q to a service manager: it is no UTF-8", text)
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return fmt.Errorf("cannot describe %q to a service manager: it has control characters", text)
	}
	return nil
}
