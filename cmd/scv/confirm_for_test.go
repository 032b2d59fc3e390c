package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"scv/wire"
)

// boundDaemon shows a question as the daemon would, and keeps what the owner is told.
func boundDaemon(t *testing.T, shown func(question string) string) (*askedDaemon, *[]string) {
	d := newAskedDaemon(t)
	told := &[]string{}
	d.script(wire.SubjectConfirmShow, func([]byte) (any, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		detail := fakeQuestion()
		detail.Confirm, detail.Question = d.info(), shown(d.question())
		return detail, nil
	})
	d.script(wire.SubjectNotify, func(data []byte) (any, error) {
		ask, err := wire.DecodeRequest[wire.Notify](data)
		*told = append(*told, ask.Text)
		return wire.Notified{Chat: "local:default", Text: ask.Text}, err
	})
	return d, told
}

// question is what was asked last.
func (d *askedDaemon) question() (question string) {
	for _, r := range d.requests(wire.SubjectControl) {
		if command, err := wire.DecodeCommand([]byte(r.data)); err == nil {
			if ask, ok := command.(wire.ConfirmAskCommand); ok {
				question = ask.Question
			}
		}
	}
	return question
}

func asShown(question string) string { return question }

// git runs git in a folder.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", "-c", "safe.directory=*"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// TestConfirmForWhatChanged: a yes counts for what was asked about, and for nothing that took its place.
func TestConfirmForWhatChanged(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(text string) string {
		write("tracked", text)
		git(t, dir, "add", "tracked")
		git(t, dir, "commit", "-q", "-m", text)
		return git(t, dir, "rev-parse", "HEAD")
	}
	git(t, dir, "init", "-q")
	first := commit("one")
	write("deploy.sh", "v1\n")
	for _, c := range []struct {
		name, words, told string
		meanwhile         func()
		code              int
	}{
		{"deploy.sh", " (for the file deploy.sh, sha256 " + sumOf(t, "v1\n") + ")", "", func() {}, 0},
		{"deploy.sh", " (for the file deploy.sh, sha256 " + sumOf(t, "v1\n") + ")", "the file deploy.sh is not", func() { write("deploy.sh", "v2\n") }, 2},
		{"./deploy.sh", " (for the file ./deploy.sh, sha256 " + sumOf(t, "v2\n") + ")", "the file ./deploy.sh is not", func() { os.Remove("deploy.sh") }, 2},
		{"HEAD", " (for the commit HEAD, " + first + ")", "", func() {}, 0},
		{first[:10], " (for the commit " + first[:10] + ", " + first + ")", "", func() { commit("two") }, 0},
		{"main", " (for the commit main, ", "the commit main is not", func() { commit("three") }, 2},
	} {
		d, told := boundDaemon(t, asShown)
		done := at(t, d.home).background("confirm", "--for", c.name, " Deploy? ")
		until(t, "it waits", d.looked(1))
		if got := d.question(); !strings.HasPrefix(got, "Deploy?"+c.words) {
			t.Errorf("%s: asked %q, want %q", c.name, got, c.words)
		}
		c.meanwhile()
		d.set(wire.Yes)
		d.publish(wire.EventConfirm+askedID, d.info())
		got := await(t, done)
		if got.code != c.code || (got.out == "yes\n") != (c.code == 0) || (c.code == 2) != strings.Contains(got.errOut, "so the yes is none") {
			t.Errorf("%s: %+v, want exit %d", c.name, got, c.code)
		}
		if all := strings.Join(*told, "\n"); (all == "") != (c.told == "") || !strings.Contains(all, c.told) {
			t.Errorf("%s: the owner was told %q", c.name, all)
		}
	}
}

func sumOf(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := fileSum(t.Context(), name)
	if err != nil || len(sum) != 64 {
		t.Fatalf("%q, %v", sum, err)
	}
	return sum
}

// TestConfirmForNothingClear: what cannot be bound, or means two things, is asked of nobody.
func TestConfirmForNothingClear(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	d, _ := boundDaemon(t, asShown)
	d.set(wire.Yes)
	refused := func(name, want string) {
		t.Helper()
		if got := at(t, d.home).scv("confirm", "--for="+name, "Deploy?"); got.code != 2 || got.out != "" || !strings.Contains(got.errOut, want) {
			t.Errorf("%s: %+v, want %q", name, got, want)
		}
	}
	refused("", "what the answer is for is empty")
	refused("HEAD", "no file here and no git commit")
	refused("./none", "no file here and no git commit")
	refused(".", "no regular file")
	git(t, dir, "init", "-q")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "one")
	if err := os.WriteFile("HEAD", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("HEAD", "for the commit HEAD^0")
	refused("--output=x", "no file here and no git commit")
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	refused("pipe", "no regular file")
	t.Setenv("PATH", "/nowhere")
	refused("HEAD^0", "git is not on the PATH")
	if got := d.requests(wire.SubjectControl); len(got) != 0 {
		t.Errorf("asked all the same: %v", got)
	}
}

// TestConfirmForWhatIsNotShown: where the daemon had to cut the text before the hash, the question is
// withdrawn at once, whatever its answer would be.
func TestConfirmForWhatIsNotShown(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("f", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := boundDaemon(t, func(question string) string { return question[:20] + "… [cut]" })
	got := at(t, d.home).scv("confirm", "--for", "f", "Deploy?")
	if got.code != 2 || got.out != "withdrawn\n" || len(d.requests(wire.SubjectConfirmWithdraw)) != 1 || !strings.Contains(got.errOut, "before the hash") {
		t.Errorf("%+v", got)
	}
}

// TestConfirmForAnEndlessFile: an interrupt ends also the reading of what is asked about.
func TestConfirmForAnEndlessFile(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (untilDone{ctx, strings.NewReader("x")}).Read(make([]byte, 1)); err == nil {
		t.Error("it read on after the end")
	}
}

// TestReceipt: it is whole, for this user alone, there before the exit, and never replaces anything.
func TestReceipt(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "r.json")
	for state, code := range map[wire.ConfirmState]int{wire.No: 1, wire.Yes: 0} {
		os.Remove(name)
		d, _ := boundDaemon(t, asShown)
		d.set(state)
		if got := at(t, d.home).scv("confirm", "--receipt", name, "Deploy?"); got.code != code {
			t.Fatalf("%s: %+v", state, got)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		detail, err := wire.Decode[wire.ConfirmDetail](text)
		info, _ := os.Stat(name)
		if err != nil || detail.Confirm.State != state || detail.Question != "Deploy?" || detail.Receipt.Sender != "uid:0" || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %s, %v, mode %v", state, text, err, info.Mode())
		}
	}
	d, _ := boundDaemon(t, asShown)
	d.set(wire.Yes)
	kept, _ := os.ReadFile(name)
	for place, want := range map[string]string{"": "the name of the receipt is empty", name: "exists already", filepath.Join(dir, "no/such"): "no such file", dir: "exists already"} {
		if got := at(t, d.home).scv("confirm", "--receipt", place, "Deploy?"); got.code != 2 || got.out != "" || !strings.Contains(got.errOut, want) {
			t.Errorf("%s: %+v", place, got)
		}
	}
	if after, _ := os.ReadFile(name); string(after) != string(kept) || len(d.requests(wire.SubjectControl)) != 0 {
		t.Error("the first receipt was replaced, or somebody was asked")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// TestReceiptLost: a yes whose receipt cannot be kept is no yes.
func TestReceiptLost(t *testing.T) {
	for why, lose := range map[string]func(d *askedDaemon, folder string){
		"the folder is gone":        func(_ *askedDaemon, folder string) { os.Remove(folder) },
		"somebody took the name":    func(_ *askedDaemon, folder string) { os.Mkdir(filepath.Join(folder, "r"), 0o700) },
		"the daemon has no receipt": func(d *askedDaemon, _ string) { d.on(wire.SubjectConfirmShow, wire.ConfirmDetail{Confirm: d.info()}) },
		"the daemon shows another": func(d *askedDaemon, _ string) {
			d.on(wire.SubjectConfirmShow, wire.ConfirmDetail{Receipt: fakeQuestion().Receipt})
		},
		"the daemon does not know it": func(d *askedDaemon, _ string) {
			d.script(wire.SubjectConfirmShow, func([]byte) (any, error) { return nil, wire.Refuse(wire.ConfirmError, "no") })
		},
	} {
		folder := filepath.Join(t.TempDir(), "receipts")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		d, told := boundDaemon(t, asShown)
		done := at(t, d.home).background("confirm", "--receipt", filepath.Join(folder, "r"), "Deploy?")
		until(t, "it waits", d.looked(1))
		lose(d, folder)
		d.set(wire.Yes)
		d.publish(wire.EventConfirm+askedID, d.info())
		if got := await(t, done); got.code != 2 || got.out != "" || !strings.Contains(got.errOut, "scv: ") {
			t.Errorf("%s: %+v", why, got)
		}
		if len(*told) != 1 || (*told)[0] != "Not going ahead after your yes, since its receipt could not be kept: Deploy?" {
			t.Errorf("%s: the owner was told %q", why, *told)
		}
	}
}
