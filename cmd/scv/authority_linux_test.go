package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// callers is an agent that tries every door in every shape a process can take. Those whose name begins
// with "later" wait until the daemon was killed and is back.
const callers = `#!/bin/sh
unset GOCOVERDIR
probe() { echo "-test.run=TestProbe -probe-doors=HOME,QUESTION,RUN,OUT/$1,${2:-OUT/start}"; }
PROGRAM $(probe direct)
sh -c "sh -c \"PROGRAM $(probe grandchild); :\"; :"
setsid -w PROGRAM $(probe setsid)
env -i PATH="$PATH" PROGRAM $(probe clean)
env -i PATH="$PATH" setsid -w PROGRAM $(probe clean-setsid)
(setsid sh -c "PROGRAM $(probe orphan) &" &)
(env -i PATH="$PATH" setsid sh -c "PROGRAM $(probe bare) &" &)
(env -i PATH="$PATH" setsid sh -c "PROGRAM $(probe later-bare OUT/killed) & echo \$! >OUT/later.pid" &)
PROGRAM $(probe later-child OUT/killed) &
timeout 120 scv --home NESTED run --nested >OUT/nested.log 2>&1 &
timeout 60 sh -c "until scv --home NESTED status >/dev/null 2>&1; do sleep 0.1; done"
scv --home NESTED chat --send go >OUT/nested.out 2>&1
PROGRAM -test.run=TestProbe -pass-socket=HOME,OUT/handed.sock
touch OUT/done
sleep 600
`

// TestEveryDoorFromEveryCaller sends a request through every door from real processes of every shape: each
// gets past those that are for agents and past no other, what it tried is written down, and the owner
// hears of it once in a daemon's life.
func TestEveryDoorFromEveryCaller(t *testing.T) {
	t.Parallel()
	w := newCallers(t)
	w.await("done", 90*time.Second)
	later, c := w.pid("later.pid"), w.d.client(t)
	waitUntil(t, "the process that hides is known", func() bool {
		evidence, err := c.DelegationExplain(t.Context(), w.handle)
		return err == nil && slices.ContainsFunc(evidence.Processes, func(p wire.ProcessTied) bool { return p.PID == later })
	})
	shapes := []string{"direct", "grandchild", "setsid", "clean", "clean-setsid", "orphan", "bare", "nested"}
	for _, shape := range shapes {
		w.check(shape, w.tried(shape))
	}
	if err := <-w.handed; err != nil {
		t.Errorf("a connection handed over: %v", err)
	}
	w.check("a connection handed over", w.gift.lines())
	w.unharmed()
	w.heard(1)
	w.d.kill()
	w.d = startDaemon(t, w.home)
	w.touch("killed")
	for _, shape := range []string{"later-bare", "later-child"} {
		w.check(shape, w.tried(shape)) // an orphan is stopped after 3 s: what it has told by then counts
	}
	w.unharmed()
	w.heard(2)
	// From here, which is outside, the same requests all get through.
	var told tries
	err := tryDoors(t.Context(), bus.SocketDialer(bus.SocketPath(w.home, instanceID(w.home))), w.question, w.sleeper, told.tell)
	if past := told.with("past"); err != nil || len(past) != len(doors(nil, "", "")) {
		t.Errorf("from outside: past %q, %v", past, err)
	}
	w.d.terminate(t)
}

type callersWorld struct {
	t                           *testing.T
	home, out, question, handle string
	sleeper                     string // handle of a run that is not the callers'
	d                           *daemonProcess
	gift                        tries // of the connection that was handed over
	handed                      chan error
}

// tries collects what somebody tells of the doors.
type tries struct {
	mu  sync.Mutex
	all []string
}

func (t *tries) tell(word, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, word+" "+name)
}

func (t *tries) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.all)
}

func (t *tries) with(word string) (names []string) {
	for _, line := range t.lines() {
		if name, ok := strings.CutPrefix(line, word+" "); ok {
			names = append(names, name)
		}
	}
	return names
}

func newCallers(t *testing.T) *callersWorld {
	t.Helper()
	w := &callersWorld{t: t, home: newHome(t), out: t.TempDir(), handed: make(chan error, 1)}
	nested, program := newHome(t), executable(t)
	script := filepath.Join(w.out, "callers.sh")
	writeConfig(t, w.home, fmt.Sprintf("[agents.callers]\ncommand = [%q]\n[agents.sleeper]\ncommand = [\"sleep\", \"600\"]\n[notify]\nowner = [\"local:default\"]\n", script))
	w.d = startDaemon(t, w.home)
	c := w.d.client(t)
	w.sleeper = w.background(c, "sleeper")
	status, err := c.Control(t.Context(), wire.ConfirmAskCommand{Question: "Deploy?", TimeoutSeconds: new(uint64(3600))})
	if err != nil {
		t.Fatal(err)
	}
	w.question = status.Confirm.ID
	fill := strings.NewReplacer("HOME", w.home, "QUESTION", w.question, "RUN", w.sleeper, "OUT", w.out, "PROGRAM", program, "NESTED", nested)
	writeConfig(t, nested, fill.Replace("[agents.inner]\ncommand = [\"PROGRAM\", \"-test.run=TestProbe\", \"-probe-doors=HOME,QUESTION,RUN,OUT/nested,OUT/start\"]\n"))
	if err := os.WriteFile(script, []byte(fill.Replace(callers)), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(w.out, "handed.sock"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { w.handed <- takeOver(t, l, w.question, w.sleeper, w.gift.tell) }()
	w.touch("start")
	w.handle = w.background(c, "callers")
	return w
}

func (w *callersWorld) background(c *bus.Client, agent string) string {
	w.t.Helper()
	ticket, err := c.DelegationStart(w.t.Context(), wire.DelegationStart{Agent: agent, Prompt: "go", Cwd: w.out})
	if err != nil {
		w.t.Fatal(err)
	}
	return ticket.Handle
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (w *callersWorld) touch(name string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.out, name), nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *callersWorld) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.out, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *callersWorld) pid(name string) uint32 {
	w.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(w.read(name)))
	if err != nil {
		w.t.Fatal(err)
	}
	return uint32(pid)
}

// await waits for a file, as long as its maker may still be at work.
func (w *callersWorld) await(name string, limit time.Duration) {
	w.t.Helper()
	for until := time.Now().Add(limit); !exists(filepath.Join(w.out, name)); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			nested, _ := os.ReadFile(filepath.Join(w.out, "nested.log"))
			w.t.Fatalf("%s never came\n%s\nnested: %s", name, w.d.log(), nested)
		}
	}
}

func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("it never happened: %s", what)
		}
	}
}

// tried is what a caller has told, once it is at the end or its run is.
func (w *callersWorld) tried(shape string) []string {
	w.t.Helper()
	c := w.d.client(w.t)
	var text string
	waitUntil(w.t, shape+" has tried the doors", func() bool {
		_, err := c.DelegationExplain(w.t.Context(), w.handle)
		b, _ := os.ReadFile(filepath.Join(w.out, shape)) // after the look: what was told by the end is there
		text = string(b)
		return strings.Contains(text, "\nend <nil>\n") || err != nil && text != ""
	})
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := len(lines) - 1; strings.HasPrefix(lines[last], "end ") {
		return lines[:last]
	}
	return lines
}

// check holds what a caller tells of the doors against what is for agents. It has tried all of them, or most.
func (w *callersWorld) check(shape string, tried []string) {
	w.t.Helper()
	all := doors(nil, "", "")
	if whole := !strings.HasPrefix(shape, "later"); len(tried) < 10 || whole && len(tried) != len(all) {
		w.t.Errorf("%s tried %d doors of %d: %q", shape, len(tried), len(all), tried)
	}
	for _, line := range tried {
		word, name, _ := strings.Cut(line, " ")
		if (word == "past") != all[name].inside {
			w.t.Errorf("%s: %s", shape, line)
		}
	}
}

// unharmed: what is the owner's is as it was.
func (w *callersWorld) unharmed() {
	w.t.Helper()
	c := w.d.client(w.t)
	detail, err := c.ConfirmShow(w.t.Context(), w.question)
	if err != nil || detail.Confirm.State != wire.Pending {
		w.t.Errorf("the owner's question is %s, %v", detail.Confirm.State, err)
	}
	status, err := c.Control(w.t.Context(), wire.StatusCommand{})
	if err != nil || status.Components[0].RemoteTools != wire.ToolsOwner {
		w.t.Errorf("settings: %+v, %v", status.Components, err)
	}
}

// heard counts how often the owner was told of the run's tries, which are all written down.
func (w *callersWorld) heard(lives int) {
	w.t.Helper()
	attached, err := w.d.client(w.t).ChatAttach(w.t.Context(), wire.ChatAttach{Account: "default", AfterSeq: new(uint64)})
	if err != nil {
		w.t.Fatal(err)
	}
	told := 0
	for _, line := range attached.Lines {
		if strings.Contains(line.Text, "inside the delegated run "+w.handle+" tried to use") {
			told++
		}
	}
	dump := at(w.t, w.home).scv("store", "dump", "--json")
	written := strings.Count(dump.out, `"kind":"forbidden","who":"`+w.handle+`"`)
	if told < 1 || told > lives || written < 9*10 {
		w.t.Errorf("the owner heard %d times in %d lives of the daemon; %d tries are written down", told, lives, written)
	}
}

// TestEveryRequestHasADoor holds the table of doors to the requests that there are.
func TestEveryRequestHasADoor(t *testing.T) {
	table := doors(nil, "", "")
	for _, subject := range wire.RequestSubjects() {
		if _, tried := table[subject]; !tried && subject != wire.SubjectControl {
			t.Errorf("no caller tries %s", subject)
		}
	}
	for _, command := range []wire.Command{
		wire.StatusCommand{},
		wire.ReloadCommand{},
		wire.ChannelSetCommand{},
		wire.ChannelLogoutCommand{},
		wire.DelegationsCommand{},
		wire.DelegationKillCommand{},
		wire.RestartWhenIdleCommand{},
		wire.ConfirmAskCommand{},
		wire.ConfirmStatusCommand{},
	} { // all of the seed's, which never gain one
		if _, tried := table["control "+command.Action()]; !tried {
			t.Errorf("no caller tries %s", command.Action())
		}
	}
}
