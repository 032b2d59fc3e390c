package chatcommand

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	for text, want := range map[string]Command{
		"/new": New, " /New\n": New, "/STATUS": Status, "/stop": Stop, "\t/help ": Help,
		"": "", "new": "", "stop": "", "/stop it": "", "/new.": "", "//new": "", "/news": "", "/ new": "", "please /stop": "",
	} {
		if got := Read(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestStopText(t *testing.T) {
	for _, c := range []struct {
		work Work
		want string
	}{
		{Work{}, "Nothing is at work here."},
		{Work{Busy: true, Agent: "claude", Handle: "claude-1a2b3c"}, "Stopping claude (claude-1a2b3c), with all that it has started."},
		{Work{Busy: true, Agent: "a", Handle: "a-1", Waiting: 2}, "Stopping a (a-1), with all that it has started. 2 messages behind it are answered next."},
		{Work{Busy: true, Waiting: 1}, "Your message had not been begun yet; it will not be. One message behind it is answered next."},
		{Work{Busy: true, Stopped: true, Handle: "a-1"}, "It is being stopped already."},
	} {
		if got := c.work.StopText(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.work, got, c.want)
		}
	}
}

func TestStatusText(t *testing.T) {
	f := Facts{Version: "1.2.3", Accounts: []Account{{"feishu:default", "connected", ""}, {"wechat:a", "failed", "sign in again"}}}
	want := "SCV 1.2.3\nwechat:a: failed – sign in again\nfeishu:default: connected\nHere: nothing is at work\nNo open questions here"
	if got := StatusText(f); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Accounts = nil
	for i := range 100 {
		f.Accounts = append(f.Accounts, Account{ID: fmt.Sprint("a", i), State: "connected"})
	}
	f.Accounts[99].Problem = "something"
	f.Here = Work{Busy: true, Agent: "claude", Handle: "claude-1", Since: 63*time.Minute + time.Second, Waiting: 1}
	f.Elsewhere, f.Questions, f.Others = 2, []string{"3f «Deploy?»", "a1 «Delete?»"}, 1
	got := StatusText(f)
	for _, part := range []string{
		"a99: connected – something\na0:", "a6: connected\nand 92 accounts more\n",
		"Here: claude (claude-1) answers a message that came 1h3m ago; 1 more to answer\nElsewhere: 2 at work\n",
		"Open questions here: 3f «Deploy?», a1 «Delete?»; elsewhere 1",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q lacks %q", got, part)
		}
	}
}

func TestHelpTellsEveryCommandAndWord(t *testing.T) {
	got := HelpText([]string{"yes", "是"}, []string{"no", "否"})
	for _, part := range []string{string(New), string(Status), string(Stop), string(Help), "yes: yes 是\n", "no: no 否\n"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q lacks %q", got, part)
		}
	}
}
