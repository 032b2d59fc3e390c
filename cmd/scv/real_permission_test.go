//go:build agents && linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/wire"
)

// TestRealPermissions: Claude Code asks the owner through scv before it runs a command, by its permission
// prompt and by a hook. A yes lets the command run; a no and silence do not, and Claude is told why.
func TestRealPermissions(t *testing.T) {
	r := newReal(t)
	config := filepath.Join(r.user, "mcp.json")
	r.write(config, fmt.Sprintf(`{"mcpServers":{"scv":{"command":%q,"args":["mcp"],"env":{"SCV_HOME":%q}}}}`, r.program, r.home))
	hooks := func(event, flags string) string {
		return fmt.Sprintf(`{"hooks":{%q:[{"matcher":"Bash","hooks":[{"type":"command","command":"SCV_HOME=%s %s hook permission%s","timeout":60}]}]}}`,
			event, r.home, r.program, flags)
	}
	for name, flags := range map[string][]string{
		"prompt":  {"--mcp-config", config, "--strict-mcp-config", "--permission-prompt-tool", "mcp__scv__permission_prompt"},
		"hook":    {"--settings", hooks("PreToolUse", "")},
		"request": {"--settings", hooks("PermissionRequest", "")},
	} {
		t.Run(name, func(t *testing.T) {
			made := filepath.Join(r.work, name)
			if said := r.permits(t, made, "yes", flags); !exists(made) || !strings.Contains(said, "It printed: ") {
				t.Errorf("after a yes the command has run: %v; Claude says %q", exists(made), said)
			}
			os.Remove(made)
			if said := r.permits(t, made, "no", flags); exists(made) || !strings.Contains(said, "the owner said no") {
				t.Errorf("after a no the command has run: %v; Claude says %q", exists(made), said)
			}
		})
	}
	silent := filepath.Join(r.work, "silent")
	if said := r.permits(t, silent, "", []string{"--settings", hooks("PreToolUse", " --timeout 1s")}); exists(silent) || !strings.Contains(said, "did not answer in time") {
		t.Errorf("after silence the command has run: %v; Claude says %q", exists(silent), said)
	}
	r.end()
}

// permits runs Claude on a command that makes a file, and answers its question; "" answers nothing.
func (r *real) permits(t *testing.T, made, answer string, flags []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Getenv("SCV_TEST_CLAUDE"), append([]string{"-p"}, flags...)...)
	cmd.Env, cmd.Dir, cmd.Stdin = r.env, r.work, strings.NewReader("run: touch "+made)
	out := make(chan string, 1)
	go func() {
		text, err := cmd.CombinedOutput()
		out <- fmt.Sprint(string(text), err)
	}()
	if answer == "" {
		return <-out
	}
	c := r.daemon.client(t)
	asked := func() bool {
		list, err := c.ConfirmList(t.Context(), wire.ConfirmListRequest{})
		return err == nil && len(list.Confirms) == 1 && list.Confirms[0].OpenedUnixMillis != nil &&
			strings.Contains(list.Confirms[0].Question, "touch "+made)
	}
	for limit := time.Now().Add(time.Minute); !asked(); time.Sleep(50 * time.Millisecond) {
		select {
		case said := <-out:
			return "nobody was asked: " + said
		default:
		}
		if time.Now().After(limit) {
			t.Fatal("nobody was asked within a minute")
		}
	}
	r.must("chat", "--send", answer)
	return <-out
}
