package restart_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRestartInPlace goes from one release to the next and on, under load: the pid stays, callers wait in the
// queue instead of being refused, and nothing is left over.
func TestRestartInPlace(t *testing.T) {
	first, second := program(t, firstRelease), program(t, secondRelease)
	s := newSite(t, first, "a folder with blanks/scv")
	s.startAlone()
	pid := s.serves("1.0.0")
	s.install(second)
	w := s.watch()
	s.mustAsk()
	if got := s.settled("2.0.0"); got != pid {
		t.Errorf("the pid was %d and is %d", pid, got)
	}
	t.Logf("longest silence %s, %d answers, %d failures", w.end(), w.answers.Load(), w.failed.Load())
	if w.failed.Load() > 0 {
		t.Errorf("%d callers were refused even on their second try: %v", w.failed.Load(), w.why.Load())
	}
}

// TestRestartBehindALink: what the link leads to is replaced, and the rollback turns the link back.
func TestRestartBehindALink(t *testing.T) {
	first, second := program(t, firstRelease), program(t, secondRelease)
	s := newSite(t, first, "releases/1/scv")
	link := filepath.Join(s.root, "scv")
	if err := os.Symlink("releases/1/scv", link); err != nil {
		t.Fatal(err)
	}
	s.binary = link
	s.startAlone()
	s.serves("1.0.0")
	next := filepath.Join(s.root, "scv-2")
	copyFile(t, withFaults(t, second, "restart.boot=crash@1"), next)
	turn(t, "scv-2", link)
	s.mustAsk()
	s.settled("1.0.0")
	if to, err := os.Readlink(link); err != nil || to != "releases/1/scv" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	copyFile(t, second, next)
	turn(t, "scv-2", link)
	s.mustAsk()
	s.settled("2.0.0")
	if to, err := os.Readlink(link); err != nil || to != "scv-2" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

// TestTheHomeIsALink: whoever goes on, the new release or after a rollback the old one, goes on in the home that it
// holds, also where the link by which the daemon was started leads elsewhere by now.
func TestTheHomeIsALink(t *testing.T) {
	second := program(t, secondRelease)
	s := newSite(t, program(t, firstRelease), "bin/scv")
	link, other := filepath.Join(s.root, "link"), filepath.Join(s.root, "other")
	must(t, errors.Join(os.Mkdir(other, 0o700), os.Symlink("home", link)))
	s.startAt(link)
	pid := s.serves("1.0.0")
	turn(t, "other", link)
	s.install(second)
	s.mustAsk()
	if got := s.settled("2.0.0"); got != pid {
		t.Errorf("the pid was %d and is %d", pid, got)
	}
	s.install(withFaults(t, second, "restart.boot=crash@1"))
	s.mustAsk()
	s.settled("2.0.0")
	if found, err := os.ReadDir(other); err != nil || len(found) > 0 {
		t.Errorf("where the link leads there is %v, %v", found, err)
	}
}

// TestAWorkingAgentSurvives restarts while an agent is at work on an owner's message: the same process goes on,
// and its answer reaches who waits for it, once. So it does when it ends in the middle of the restart.
func TestAWorkingAgentSurvives(t *testing.T) {
	first, second := program(t, firstRelease), program(t, secondRelease)
	s := newSite(t, first, "bin/scv")
	s.startAlone()
	pid := s.serves("1.0.0")
	var asked []*exec.Cmd
	var answers []*strings.Builder
	for _, seconds := range []float64{6, 0.5} {
		cmd := exec.Command(first, "--home", s.home, "chat", "--send", fmt.Sprintf("%v", seconds))
		out := &strings.Builder{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		asked, answers = append(asked, cmd), append(answers, out)
		if seconds > 1 {
			s.await("the agent is at work", func() bool {
				status, err := s.status()
				return err == nil && status.Delegations.Active == 1
			})
		}
	}
	s.install(second)
	s.mustAskWithin(1)
	if got := s.settled("2.0.0"); got != pid {
		t.Errorf("the pid was %d and is %d", pid, got)
	}
	for i, cmd := range asked {
		if err := cmd.Wait(); err != nil || !strings.Contains(answers[i].String(), "answer to") {
			t.Errorf("who waited was told %q (%v)", answers[i], err)
		}
	}
	chat, err := exec.Command(second, "--home", s.home, "store", "dump", "--json", "--texts").Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(chat), "answer to 6"); n != 1 {
		t.Errorf("the answer is in the chat %d times", n)
	}
	s.await("no run is left", func() bool {
		status, err := s.status()
		return err == nil && status.Delegations.Active == 0
	})
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	must(t, appendTo(to+".new", from, ""))
	must(t, os.Rename(to+".new", to))
}

// appendTo makes a program of another one and some text.
func appendTo(path, from, text string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		_, err = out.WriteString(text)
	}
	return errors.Join(err, out.Close())
}

// turn makes a link lead elsewhere in one step.
func turn(t *testing.T, to, link string) {
	t.Helper()
	if err := os.Symlink(to, link+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+".new", link); err != nil {
		t.Fatal(err)
	}
}
