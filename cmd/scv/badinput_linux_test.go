package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"scv/wire"
)

// TestMalformedRequests sends broken requests and broken protocol to a real daemon: each is answered or
// its connection is closed, nothing of the store changes, and memory stays flat. SCV_MALFORMED sets how
// many, SCV_MALFORMED_SEED repeats a run.
func TestMalformedRequests(t *testing.T) {
	total := number(t, "SCV_MALFORMED", 2000)
	seed := uint64(number(t, "SCV_MALFORMED_SEED", int(time.Now().UnixNano()%1e9)))
	t.Logf("%d requests, seed %d (SCV_MALFORMED_SEED=%d repeats it)", total, seed, seed)
	home := newHome(t)
	d := startDaemon(t, home)
	c := d.client(t)
	if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: "m1", Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	awaitAnswer(t, c, "m1")
	awaitIdle(t, c.Control)
	samples := vectors(t)
	sendMalformed(t, home, samples, seed+1000, 400) // until the buffers have their size
	dump, memory := d.dump(t), d.memory(t)
	tally := sendMalformed(t, home, samples, seed, total)
	t.Logf("%s; memory %d KiB, then %d KiB", tally, memory>>10, d.memory(t)>>10)
	if after := d.dump(t); after != dump {
		t.Errorf("the store changed: %s", firstDifference(dump, after))
	}
	if grown := d.memory(t) - memory; grown > 64<<20 { // the race detector triples what is used
		t.Errorf("memory grew by %d KiB", grown>>10)
	}
	if tally.refused < uint64(total)/2 {
		t.Errorf("only %d of %d were requests that the daemon refused", tally.refused, total)
	}
	d.terminate(t)
}

// tally counts what became of malformed requests.
type tally struct{ refused, harmless, cut uint64 }

func (y tally) String() string {
	return fmt.Sprintf("%d refused, %d answered that change nothing, %d connections cut", y.refused, y.harmless, y.cut)
}

func sendMalformed(t *testing.T, home string, samples []string, seed uint64, total int) tally {
	t.Helper()
	const workers = 4
	var refused, harmless, cut atomic.Uint64
	var all sync.WaitGroup
	for w := range workers {
		random := rand.New(rand.NewPCG(seed, uint64(w)))
		all.Go(func() {
			r := newRaw(t, home)
			defer func() { r.close() }()
			for range total / workers {
				if random.IntN(20) == 0 {
					if err := breakProtocol(home, random); err != nil {
						t.Errorf("seed %d: %v", seed, err)
					}
					cut.Add(1)
					continue
				}
				subject, body := malformed(random, samples)
				got, err := r.ask(subject, body)
				switch {
				case cutOff(err):
					cut.Add(1)
					r.close()
					r = newRaw(t, home)
				case err != nil:
					t.Errorf("seed %d: %s was not answered: %v: %.200q", seed, subject, err, body)
					return
				case got.code != "":
					refused.Add(1)
				case changes(subject, body):
					t.Errorf("seed %d: %s was accepted: %.200q", seed, subject, body)
				default:
					harmless.Add(1)
				}
			}
		})
	}
	all.Wait()
	return tally{refused.Load(), harmless.Load(), cut.Load()}
}

// cutOff tells a connection that the daemon closed from one that hangs.
func cutOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET)
}

// vectors are the messages of the language's own tests, and a few that are wrong only in what they say.
func vectors(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "wire", "testdata", "wire.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, text := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var vector struct {
			In string `json:"in"`
		}
		if err := json.Unmarshal([]byte(text), &vector); err != nil {
			t.Fatal(err)
		}
		all = append(all, vector.In)
	}
	long := strings.Repeat("a", 900_000)
	return append(all,
		`{"account":"default","id":"../x","text":"x"}`, `{"account":"../x","id":"x","text":"x"}`, `{"account":"default","id":"x","text":" "}`,
		`{"action":"channel_set","channel":"local","account":"a/b","enabled":true}`, `{"action":"channel_set","channel":"","account":"","enabled":true}`,
		`{"action":"channel_set","channel":"local","account":"`+long+`","enabled":true}`,
		`{"action":"channel_set","channel":"`+long+`","account":"x","enabled":true}`,
		`{"action":"channel_set","channel":"local","account":"default","enabled":true,"workspace":"/`+long+`"}`,
		`{"action":"channel_logout","channel":"local","account":"`+long+`"}`,
		`{"action":"delegation_kill","handle":"`+long+`","orphans":false}`, `{"action":"confirm_status","id":"`+long+`"}`,
		`{"action":"confirm_ask","question":"`+long+`"}`, `{"action":"confirm_ask","question":"x","timeout_seconds":0}`,
		`{"action":"`+long+`"}`, `{"id":"`+long+`"}`, `{"channel":"local","account":"default","agent":"`+long+`"}`,
		`{"channel":"local","account":"default","workspace":"relative"}`, strings.Repeat("[", 900_000), strings.Repeat(`{"action":`, 90_000),
	)
}

// malformed is a request that must not change anything: a broken one, or a read.
func malformed(random *rand.Rand, samples []string) (subject, body string) {
	subjects := wire.RequestSubjects()
	for {
		subject = subjects[random.IntN(len(subjects))]
		if subject == wire.SubjectStoreSnapshot {
			continue // the snapshot of an empty request is no fault
		}
		body = mutate(random, samples[random.IntN(len(samples))])
		if !changes(subject, body) {
			return subject, body
		}
	}
}

func mutate(random *rand.Rand, body string) string {
	b := []byte(body)
	for range 1 + random.IntN(3) {
		if len(b) == 0 {
			break
		}
		i := random.IntN(len(b))
		switch random.IntN(8) {
		case 0:
			b[i] ^= 1 << random.IntN(8)
		case 1:
			b = b[:i]
		case 2:
			b = append(b[:i:i], b[min(len(b), i+1+random.IntN(8)):]...)
		case 3:
			b = append(append(b[:i:i], "\x00\xff\xed\xa0\x80"...), b[i:]...)
		case 4:
			b = append(append(b[:i:i], strings.Repeat("[", random.IntN(300))...), b[i:]...)
		case 5:
			b = append(b, b[:i]...)
		case 6:
			b = []byte(strings.Replace(string(b), "true", "1e999", 1))
		}
	}
	return string(b)
}

// changes reports whether a request, if it is none that must be refused, could change something. What
// the language itself cannot read is none.
func changes(subject, body string) bool {
	data := []byte(body)
	readable := func(err error) bool { return err == nil }
	switch subject {
	case wire.SubjectControl:
		command, err := wire.DecodeCommand(data)
		switch ask := command.(type) {
		case wire.StatusCommand, wire.DelegationsCommand, wire.ConfirmStatusCommand:
			return false
		case wire.ChannelSetCommand:
			return validNames(ask.Channel, ask.Account) && len(ask.Account) <= 64 && ask.Workspace == nil
		case wire.ConfirmAskCommand:
			text := strings.TrimSpace(ask.Question)
			return text != "" && len(text) <= wire.MaxQuestion && (ask.TimeoutSeconds == nil || *ask.TimeoutSeconds > 0)
		case wire.DelegationKillCommand:
			return ask.Orphans
		case wire.ChannelLogoutCommand:
			return validNames(ask.Channel, ask.Account) && len(ask.Account) <= 64
		}
		return readable(err)
	case wire.SubjectAccountSet:
		ask, err := wire.Decode[wire.AccountSet](data)
		return readable(err) && validNames(ask.Channel, ask.Account) && len(ask.Account) <= 64 && (ask.Agent == nil || len(*ask.Agent) < 1000)
	case wire.SubjectChatSend:
		ask, err := wire.Decode[wire.ChatSend](data)
		return readable(err) && ask.Account == "default" && validNames(ask.ID, ask.ID) && strings.TrimSpace(ask.Text) != ""
	case wire.SubjectNotify:
		ask, err := wire.Decode[wire.Notify](data)
		return readable(err) && strings.TrimSpace(ask.Text) != "" && len(ask.Text) <= wire.MaxNotify
	case wire.SubjectConfirmWithdraw:
		_, err := wire.Decode[wire.ConfirmID](data)
		return readable(err)
	}
	return false
}

func validNames(names ...string) bool {
	for _, name := range names {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", r)
		}) {
			return false
		}
	}
	return true
}

// breakProtocol sends noise on a connection of its own, after a good CONNECT or without. Either it is
// closed, or it still waits for the rest and is closed by us.
func breakProtocol(home string, random *rand.Rand) error {
	r, err := dialRaw(home)
	if err != nil {
		return err
	}
	defer r.close()
	name := randomID()
	if random.IntN(2) == 0 {
		if err := r.say("CONNECT {\"user\":%q,\"headers\":true}\r\n", name); err != nil {
			return nil
		}
	}
	noise := []string{
		"PUB daemon.control 5\r\n{\"a\r\n", "PUB daemon.control -1\r\n\r\n", "PUB daemon.control 99999999999999999999\r\n",
		"HPUB daemon.control _INBOX_" + name + ".x 12 12\r\nNATS/1.0\r\n\r\n\r\n", "HPUB daemon.control 9999 3\r\nabc\r\n", "SUB > 1\r\n",
		"CONNECT {\"user\":\"daemon\"}\r\n", "\x00\x01\x02\r\n", strings.Repeat("x", 9000) + "\r\n", "PUB daemon.control daemon.control 2\r\n{}\r\n",
		"GET / HTTP/1.1\r\n\r\n", "PUB  \r\n", "MSG daemon.control 1 2\r\n{}\r\n", "PUB daemon.control _INBOX_" + name + ".x 8388609\r\n",
	}[random.IntN(14)]
	if random.IntN(3) == 0 {
		noise = mutate(random, noise)
	}
	if err := r.say("%s", noise); err != nil {
		return nil // it was cut already
	}
	if err := r.conn.(*net.UnixConn).CloseWrite(); err != nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, r.in); err != nil && !cutOff(err) {
		return fmt.Errorf("after %.80q the connection stays open: %w", noise, err)
	}
	return nil
}

// memory is what the daemon has resident, in bytes.
func (d *daemonProcess) memory(t *testing.T) int {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) == 3 && words[0] == "VmRSS:" {
			kib, err := strconv.Atoi(words[1])
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("the daemon has no memory")
	return 0
}

// dump is every record as scv store dump shows it.
func (d *daemonProcess) dump(t *testing.T) string {
	t.Helper()
	got := at(t, d.home).scv("store", "dump", "--json", "--texts")
	if got.code != 0 || got.out == "" {
		t.Fatalf("dump: %+v", got)
	}
	return got.out
}

func firstDifference(a, b string) string {
	before := map[string]bool{}
	for _, row := range strings.Split(a, "\n") {
		before[row] = true
	}
	for _, row := range strings.Split(b, "\n") {
		if !before[row] {
			return fmt.Sprintf("%.300s", row)
		}
	}
	return "rows are gone"
}
