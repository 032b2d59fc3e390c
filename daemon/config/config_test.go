package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func home(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, Name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWithoutAFileTheDefaultsHold(t *testing.T) {
	for name, dir := range map[string]string{"no file": t.TempDir(), "empty file": home(t, "")} {
		got, err := Load(dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(Default(), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Some editors begin a file with a mark that nobody sees.
func TestAMarkOfUTF8IsNoMistake(t *testing.T) {
	got, err := Load(home(t, "\uFEFFworkspace = \"/a\"\n[log]\nlevel = \"shout\""))
	if err == nil || !strings.Contains(err.Error(), "line 3: ") {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = Load(home(t, "\uFEFFworkspace = \"/a\"")); err != nil || got.Workspace != "/a" {
		t.Errorf("%+v, %v", got, err)
	}
}

const everyKey = `
workspace = "/srv/work/../code"

[agents.claude]
driver = "claude"
env = ["ANTHROPIC_API_KEY"]

[agents.live]
driver = "acp"
command = ["codex-acp"]

[agents.Own_2-x]
command = ["/opt/own", "--"]
prompt = "arg"

[notify]
owner = ["feishu:default", "local:default"]

[delegations]
max_depth = 0

[turns]
owner = "1h"
others = "10s"
concurrent = 9
progress = "7s"

[media]
owner_max_mib = 0
others_image_max_mib = 2
keep_days = 3
[log]
level = "warn"

[timing]
reconcile = "20ms"
stop_grace = "30ms"
backoff_min = "40ms"
backoff_max = "50ms"
stable_after = "60ms"
idle_close = "70ms"

[feishu]
stand_in = "http://127.0.0.1:8080"

[wechat]
stand_in = "http://127.0.0.1:8081"
`

func TestEveryKeyIsRead(t *testing.T) {
	got, err := Load(home(t, everyKey))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Workspace: "/srv/code",
		Agents: map[string]Agent{
			"claude":  {Driver: "claude", Env: []string{"ANTHROPIC_API_KEY"}},
			"live":    {Driver: "acp", Command: []string{"codex-acp"}},
			"Own_2-x": {Command: []string{"/opt/own", "--"}, Prompt: "arg"},
		},
		Notify: Notify{Owner: []string{"feishu:default", "local:default"}},
		Turns:  Turns{Owner: time.Hour, Others: 10 * time.Second, Concurrent: 9, Progress: 7 * time.Second},
		Media:  Media{OthersImageMax: 2, KeepDays: 3},
		Log:    Log{Level: 4},
		Timing: Timing{
			Reconcile: 20 * time.Millisecond, StopGrace: 30 * time.Millisecond,
			BackoffMin: 40 * time.Millisecond, BackoffMax: 50 * time.Millisecond,
			StableAfter: 60 * time.Millisecond, IdleClose: 70 * time.Millisecond,
		},
		Feishu: Platform{StandIn: "http://127.0.0.1:8080"},
		WeChat: Platform{StandIn: "http://127.0.0.1:8081"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Each mistake is one sentence that names the line and the key, and never the value.
func TestMistakesAreNamed(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "\n[turns]\nowners = \"s3cret\"", `line 3: the key "turns.owners" is unknown: [turns] has concurrent, others, owner, progress`},
		{"unknown table", "[turn]\nowner = \"s3cret\"", `line 1: the key "turn" is unknown: the file has agents, delegations, `},
		{"unknown key of an agent", "[agents.a]\ncommand = [\"a\"]\nkey = \"s3cret\"", `line 3: the key "agents.a.key" is unknown: [agents.a] has command, driver, env, home, prompt`},
		{"other case", "\n[turns]\nOwner = \"1s\"", `line 3: the key "turns.Owner" is unknown: keys are lower-case`},
		{"other case inline", "agents = {a = {\nCommand = [\"s3cret\"]}}", `the key "agents.a.Command" is unknown: keys are lower-case`},
		{"twice", "workspace = \"/s3cret\"\nworkspace = \"/b\"", `line 2: the value of "workspace" is wrong`},
		{"wrong type", "[turns]\nconcurrent = \"s3cret\"", `line 2: the value of "turns.concurrent" is wrong: it cannot be of the type string`},
		{"number for a time", "[timing]\nreconcile = 3", `line 2: the value of "timing.reconcile" is wrong: it cannot be of the type integer`},
		{"array of wrong type", "[notify]\nowner = [1]", `"notify.owner"`},
		{"broken syntax", "[turns]\nconcurrent = ", `line 2: `},
		{"no unit", "[turns]\nowner = \"5\"", `line 2: the value of "turns.owner" is wrong: it is a time with its unit`},
		{"negative time", "[turns]\nothers = \"-5s\"", `line 2: the value of "turns.others"`},
		{"endless time", "[timing]\nstable_after = \"9000h\"", `line 2: the value of "timing.stable_after"`},
		{"back-off upside down", "[timing]\nbackoff_min = \"2m\"", `line 2: the value of "timing.backoff_min" is wrong: it is longer`},
		{"depth", "[delegations]\nmax_depth = -1", `line 2: the value of "delegations.max_depth" is wrong: it is a number from 0 to 16`},
		{"neither a time nor never", "[turns]\nprogress = \"s3cret\"", `line 2: the value of "turns.progress" is wrong: it is "never", or a time`},
		{"none at once", "[turns]\nconcurrent = 0", `line 2: the value of "turns.concurrent" is wrong: it is a number from 1 to 64`},
		{"level", "[log]\nlevel = \"s3cret\"", `line 2: the value of "log.level" is wrong`},
		{"relative workspace", "workspace = \"s3cret\"", `line 1: the value of "workspace" is wrong: it is not an absolute path`},
		{"empty workspace", "workspace = \"\"", `line 1: the value of "workspace" is wrong: it is empty`},
		{"workspace in ~", "workspace = \"~/s3cret\"", `line 1: the value of "workspace" is wrong: ~ is not expanded`},
		{"workspace in a variable", "workspace = \"$HOME/s3cret\"", `line 1: the value of "workspace" is wrong: variables are not expanded`},
		{"workspace with a NUL", "workspace = \"/s3cret\\u0000\"", `line 1: the value of "workspace" is wrong: it contains a NUL`},
		{"agent name", "[agents.\"a b\"]\ncommand = [\"a\"]", `line 1: the value of "agents.a b" is wrong`},
		{"long agent name", "[agents." + strings.Repeat("a", 33) + "]\ncommand = [\"a\"]", `line 1: `},
		{"agent without a command", "[agents.a]\nprompt = \"stdin\"", `line 1: "agents.a.command" is missing: it lists the program and its arguments`},
		{"empty program", "[agents.a]\ncommand = [\"\"]", `line 2: the value of "agents.a.command" is wrong`},
		{"command as one string", "[agents.a]\ncommand = \"sh -c s3cret\"", `line 2: the value of "agents.a.command" is wrong: it is a list, the program and each argument in quotes of their own, as ["sh", "-c", "..."]`},
		{"env as one string", "[agents.a]\ncommand = [\"a\"]\nenv = \"s3cret\"", `line 3: the value of "agents.a.env" is wrong: it is a list of names, as ["MY_API_KEY"]`},
		{"one account to notify", "[notify]\nowner = \"s3cret\"", `line 2: the value of "notify.owner" is wrong: it is a list of accounts, as ["local:default"]`},
		{"command of numbers", "[agents.a]\ncommand = [1]", `line 2: the value of "agents.a.command" is wrong: it is a list`},
		{"empty command", "[agents.a]\ncommand = []", `line 2: the value of "agents.a.command" is wrong: it lists the program and its arguments, as ["claude", "-p"]`},
		{"relative program", "[agents.a]\ncommand = [\"./s3cret\"]", `line 2: the value of "agents.a.command" is wrong`},
		{"NUL", "[agents.a]\ncommand = [\"a\", \"b\\u0000\"]", `line 2: the value of "agents.a.command" is wrong`},
		{"home of another driver", "[agents.a]\ndriver = \"codex\"\nhome = \"/s3cret\"", `line 3: the value of "agents.a.home" is wrong: it is for driver = "scv"`},
		{"no home", "[agents.a]\ndriver = \"scv\"", `line 1: "agents.a.home" is missing: it names the home of the SCV`},
		{"relative home", "[agents.a]\ndriver = \"scv\"\nhome = \"s3cret\"", `line 3: the value of "agents.a.home" is wrong: it is an absolute path`},
		{"driver", "[agents.a]\ndriver = \"s3cret\"", `line 2: the value of "agents.a.driver" is wrong: it is one of acp, claude, codex, gemini, opencode, scv; leave`},
		{"driver in another case", "[agents.a]\ndriver = \"Claude\"", `line 2: the value of "agents.a.driver" is wrong`},
		{"empty driver", "[agents.a]\ndriver = \"\"\ncommand = [\"a\"]", `line 2: the value of "agents.a.driver" is wrong`},
		{"driver of a wrong type", "[agents.a]\ndriver = [\"claude\"]", `line 2: the value of "agents.a.driver" is wrong`},
		{"driver with a prompt", "[agents.a]\ndriver = \"claude\"\nprompt = \"stdin\"", `line 3: the value of "agents.a.prompt" is wrong: it is for commands without a driver`},
		{"driver with an empty command", "[agents.a]\ndriver = \"claude\"\ncommand = []", `line 3: the value of "agents.a.command" is wrong`},
		{"protocol without a program", "[agents.a]\ndriver = \"acp\"", `line 1: "agents.a.command" is missing`},
		{"program in ~", "[agents.a]\ncommand = [\"~/s3cret\"]", `line 2: the value of "agents.a.command" is wrong: ~ is not expanded here`},
		{"home in ~", "[agents.a]\ndriver = \"scv\"\nhome = \"~/s3cret\"", `line 3: the value of "agents.a.home" is wrong: ~ is not expanded here`},
		{"another script", "[turns]\n好 = 1", `line 2: invalid character at start of key: U+597D '好'`},
		{"typographic quotes", "workspace = “/s3cret”", `line 1: unexpected character U+201C '“' at start of value`},
		{"prompt", "[agents.a]\ncommand = [\"a\"]\nprompt = \"s3cret\"", `line 3: the value of "agents.a.prompt" is wrong`},
		{"inline agent", "\n[agents]\na = {command = [\"a\"], prompt = \"s3cret\"}", `line 3: the value of "agents.a.prompt" is wrong`},
		{"variable with a value", "[agents.a]\ncommand = [\"a\"]\nenv = [\"A=s3cret\"]", `line 3: the value of "agents.a.env" is wrong`},
		{"our own variable", "[agents.a]\ncommand = [\"a\"]\nenv = [\"SCV_PARENT\"]", `line 3: the value of "agents.a.env" is wrong`},
		{"stand-in elsewhere", "[feishu]\nstand_in = \"http://s3cret.example:80\"", `line 2: the value of "feishu.stand_in" is wrong: it is http://`},
		{"stand-in with TLS", "[feishu]\nstand_in = \"https://127.0.0.1:80\"", `line 2: the value of "feishu.stand_in" is wrong`},
		{"stand-in with a path", "[feishu]\nstand_in = \"http://127.0.0.1:80/s3cret\"", `line 2: the value of "feishu.stand_in" is wrong`},
		{"another stand-in elsewhere", "[wechat]\nstand_in = \"http://s3cret.example:80\"", `line 2: the value of "wechat.stand_in" is wrong: it is http://`},
		{"account without a channel", "[notify]\nowner = [\"s3cret\"]", `line 2: the value of "notify.owner" is wrong`},
		{"account twice", "[notify]\nowner = [\"a:b\", \"a:b\"]", `line 2: the value of "notify.owner" is wrong: it lists an account twice`},
		{"invalid UTF-8", "workspace = \"/\xff\"", `line 1: `},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(home(t, c.text))
			if err == nil {
				t.Fatal("accepted")
			}
			got := err.Error()
			if !strings.Contains(got, c.want) || !strings.Contains(got, Name) {
				t.Errorf("%s\nwant a sentence with %s", got, c.want)
			}
			if strings.Contains(got, "\n") || strings.Contains(got, "s3cret") {
				t.Errorf("quotes the value or is no sentence: %q", got)
			}
		})
	}
}

func TestOnlyASafeFileIsRead(t *testing.T) {
	t.Run("others may write", func(t *testing.T) {
		for _, mode := range []os.FileMode{0o620, 0o602} {
			dir := home(t, "")
			if err := os.Chmod(filepath.Join(dir, Name), mode); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
				t.Errorf("mode %o: %v", mode, err)
			}
		}
	})
	t.Run("size", func(t *testing.T) {
		if _, err := Load(home(t, "#"+strings.Repeat("x", MaxBytes-1))); err != nil {
			t.Errorf("refused the largest: %v", err)
		}
		if _, err := Load(home(t, "#"+strings.Repeat("x", MaxBytes))); err == nil {
			t.Error("accepted one byte more")
		}
	})
	t.Run("not a file", func(t *testing.T) {
		dir := t.TempDir()
		if err := unix.Mkfifo(filepath.Join(dir, Name), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil {
			t.Error("accepted a pipe")
		}
	})
	t.Run("link", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Symlink(filepath.Join(home(t, "[log]\nlevel = \"error\""), Name), filepath.Join(dir, Name)); err != nil {
			t.Fatal(err)
		}
		if c, err := Load(dir); err != nil || c.Log.Level != 8 {
			t.Errorf("a link to a good file: %v %v", c.Log.Level, err)
		}
		if err := os.Remove(filepath.Join(dir, Name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("gone", filepath.Join(dir, Name)); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil {
			t.Error("a dangling link is as if there were no file")
		}
	})
}

func TestCheckFolder(t *testing.T) {
	dir := home(t, "")
	if err := CheckFolder(dir); err != nil {
		t.Error(err)
	}
	link, locked := filepath.Join(dir, "link"), filepath.Join(dir, "locked")
	if err := os.Symlink("gone", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(locked, 0o300); err != nil {
		t.Fatal(err)
	}
	for bad, want := range map[string]string{
		"":                               "is not an absolute path",
		"relative":                       "is not an absolute path",
		filepath.Join(dir, "gone"):       "does not exist",
		link:                             "is a link to a folder that does not exist",
		filepath.Join(dir, Name):         "is a file, not a folder",
		filepath.Join(dir, Name, "work"): "something above it is a file",
		locked:                           "may not be read and entered",
	} {
		if bad == locked && os.Getuid() == 0 {
			continue // root may do anything
		}
		if err := CheckFolder(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", bad, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("[agents.a]\ncommand = [\"a\"]\n[timing]\nreconcile = \"1s\""))
	f.Add([]byte("agents = {a = {command = [\"a\"]}}"))
	f.Add([]byte("[agents.a]\ndriver = \"codex\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse(data)
		if err != nil {
			return
		}
		if c.Timing.Reconcile < minSpan || c.Turns.Concurrent < 1 || c.Agents == nil {
			t.Errorf("accepted an impossible file: %+v", c)
		}
		for name, a := range c.Agents {
			if !ValidAgentName(name) || a.Driver == "" && badCommand(a.Command) != "" {
				t.Errorf("accepted the agent %q: %+v", name, a)
			}
		}
	})
}
