package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"scv/daemon/channel/feishu/feishutest"
	"scv/wire"
)

// The crowd of docs/reliability.md R7, on a platform: of these accounts so many lose their connection each second,
// and so many are signed out. That accounts which hang in their stop hurt nobody is TestACrowd's.
const (
	crowdAccounts = 128
	crowdFlapping = 64
	crowdExpired  = 8
)

// Most that one more account may cost, in bytes of memory.
const accountMemory = 512 << 10

// TestACrowdOfFeishuAccounts: what happens to some accounts touches no other, a status is answered at once all the
// while, every message gets one reply, and nothing grows. SCV_LONG makes it ten minutes; SCV_ACCOUNTS_P99_MS says how
// long a status may take.
func TestACrowdOfFeishuAccounts(t *testing.T) {
	k := &feishuCrowd{t: t, home: newHome(t), p: feishutest.New(t, feishutest.Options{Apps: make([]feishutest.App, crowdAccounts)})}
	writeConfig(t, k.home, fmt.Sprintf("[feishu]\nstand_in = %q\n[timing]\nreconcile = \"500ms\"\n", k.p.PlainURL()))
	k.d = spawnDaemon(t, k.home, builtWith(t, ""), nil) // as users have it: the race detector's memory is not theirs
	if err := k.d.ready(t); err != nil {
		t.Fatalf("the daemon does not answer: %v\n%s", err, k.d.log())
	}
	k.d.component(t, "local:default", wire.Connected)
	empty := k.d.memory(t)
	k.signIn()
	k.states("all connected", func(int) wire.ComponentState { return wire.Connected })
	each := (k.d.memory(t) - empty) / crowdAccounts
	t.Logf("%d KiB an account", each>>10)
	if each > accountMemory {
		t.Errorf("an account costs %d KiB, more than %d", each>>10, accountMemory>>10)
	}
	for i := range k.apps() {
		k.say(i) // a chat is known from its first message on
	}
	k.answered()
	open := k.files()
	for _, app := range k.apps()[crowdFlapping : crowdFlapping+crowdExpired] {
		k.p.SetSecret(app.ID, "another")
	}
	k.p.ExpireTokens()
	for _, app := range k.apps()[crowdFlapping : crowdFlapping+crowdExpired] {
		k.p.Kick(app.ID)
	}
	rounds := 5
	if os.Getenv("SCV_LONG") != "" {
		rounds = 600
	}
	for range rounds {
		k.round()
	}
	health := k.states("the expired failed, all others connected", func(i int) wire.ComponentState {
		if flaps, expired := i < crowdFlapping, i < crowdFlapping+crowdExpired; expired && !flaps {
			return wire.Failed
		}
		return wire.Connected
	})
	for i, h := range health {
		if i >= crowdFlapping+crowdExpired && h.Restarts > 0 || i < crowdFlapping && h.Restarts == 0 {
			t.Errorf("%s was started again %d times", h.ID, h.Restarts)
		}
	}
	k.conclude(open)
}

// feishuCrowd is a daemon with many accounts.
type feishuCrowd struct {
	t    *testing.T
	home string
	p    *feishutest.Platform
	d    *daemonProcess
	said []string // ids
	took []time.Duration
}

func (k *feishuCrowd) apps() []feishutest.App { return k.p.Apps()[:crowdAccounts] }

func accountName(i int) string { return fmt.Sprintf("a%03d", i) }

func (k *feishuCrowd) signIn() {
	k.t.Helper()
	folder := filepath.Dir(credentialFile(k.home, "x"))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		k.t.Fatal(err)
	}
	for i, app := range k.apps() {
		text := fmt.Sprintf(`{"app_id":%q,"app_secret":%q,"brand":"feishu","owner_open_id":%q}`, app.ID, app.Secret, app.Owner)
		if err := os.WriteFile(credentialFile(k.home, accountName(i)), []byte(text), 0o600); err != nil {
			k.t.Fatal(err)
		}
	}
}

// states waits until every account is in the state that it should be in. One that flapped for long waits up to
// a minute, and a tenth more, before it is begun again.
func (k *feishuCrowd) states(what string, want func(i int) wire.ComponentState) (health []wire.ComponentHealth) {
	k.t.Helper()
	c := k.d.client(k.t)
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		status, err := c.Control(k.t.Context(), wire.StatusCommand{})
		health = slices.DeleteFunc(status.Components, func(h wire.ComponentHealth) bool { return h.Channel != "feishu" })
		odd := crowdAccounts - len(health)
		for i, h := range health { // sorted by id
			if h.State != want(i) {
				odd++
			}
		}
		if err == nil && odd == 0 {
			return health
		}
		if time.Now().After(end) {
			k.t.Fatalf("it never happened: %s; %d are not so, %v", what, odd, err)
		}
	}
}

// round is a second: some lose their connection, some owners write, and a status is asked for again and again.
func (k *feishuCrowd) round() {
	c := k.d.client(k.t)
	defer c.Close()
	end := time.Now().Add(time.Second)
	for i, app := range k.apps() {
		if i < crowdFlapping {
			k.p.Kick(app.ID)
		}
		if len(k.said) < 3*crowdAccounts && (i < crowdFlapping || i >= crowdFlapping+crowdExpired) {
			k.say(i)
		}
	}
	for time.Now().Before(end) {
		began := time.Now()
		if _, err := c.Control(k.t.Context(), wire.StatusCommand{}); err != nil {
			k.t.Fatal(err)
		}
		k.took = append(k.took, time.Since(began))
		time.Sleep(10 * time.Millisecond)
	}
}

func (k *feishuCrowd) say(i int) {
	app := k.apps()[i]
	k.said = append(k.said, k.p.Say(k.p.Direct(app.ID, app.Owner), app.Owner, "hello"))
}

// answered waits for one reply to everything that was said.
func (k *feishuCrowd) answered() {
	k.t.Helper()
	replies := map[string]int{}
	missing := func() (n int) {
		clear(replies)
		for _, s := range k.p.Sent() {
			replies[s.ReplyTo]++
		}
		for _, id := range k.said {
			if replies[id] == 0 {
				n++
			}
		}
		return n
	}
	for end := time.Now().Add(time.Minute); missing() > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			k.t.Fatalf("of %d messages %d have no reply", len(k.said), missing())
		}
	}
	for _, id := range k.said {
		if replies[id] != 1 {
			k.t.Errorf("%s got %d replies", id, replies[id])
		}
	}
}

func (k *feishuCrowd) conclude(open int) {
	k.t.Helper()
	k.answered()
	const slack = 16 // idle connections for calls, and what is about to end
	until(k.t, "as many descriptors as before", func() bool { return k.files() <= open+slack })
	slices.Sort(k.took)
	p99 := k.took[len(k.took)*99/100]
	k.t.Logf("%d messages; %d statuses, p99 %v, %d descriptors", len(k.said), len(k.took), p99, open)
	if most := time.Duration(number(k.t, "SCV_ACCOUNTS_P99_MS", 3000)) * time.Millisecond; p99 > most {
		k.t.Errorf("a status took %v at p99, more than %v", p99, most)
	}
	k.d.terminate(k.t)
}

// files is how many descriptors the daemon has open.
func (k *feishuCrowd) files() int {
	k.t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", k.d.cmd.Process.Pid))
	if err != nil {
		k.t.Fatal(err)
	}
	return len(entries)
}
