package agent

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/internal/testexe"
)

func TestACPEndsInATurn(t *testing.T) {
	for name, step := range map[string]testexe.Step{
		"exit": {Exit: testexe.Code(3)}, "killed": {KillSelf: true}, "closes": {CloseOutput: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := converse(t, patient, testexe.ACP{Turns: [][]testexe.ACPStep{{{Say: "half"}, {Do: &step}, {Do: &testexe.Step{SleepMillis: 60_000}}}}})
			if _, err := turn(t, s, "hi"); !errors.Is(err, errACPEnded) {
				t.Errorf("%v", err)
			}
			isOver(t, s)
			if _, err := turn(t, s, "again"); !errors.Is(err, errACPEnded) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestACPEndsBetweenTurns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "go")
	s := converse(t, patient, testexe.ACP{Turns: [][]testexe.ACPStep{{
		{Do: &testexe.Step{Spawn: &testexe.Spawn{Script: testexe.Script{{WaitFile: file}}}}},
		{Say: "well"},
	}}})
	says(t, s, "hi", "well")
	lasts(t, s)
	p := s.(*acpSession).gate.out.(io.Closer)
	p.Close() // as its input ends, so does the peer
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	isOver(t, s)
}

// raw is a program that answers the first requests with fixed lines.
func raw(answers ...string) testexe.Script {
	script := testexe.Script{
		{ReadLine: true},
		{Print: `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`},
		{ReadLine: true},
		{Print: `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`},
		{ReadLine: true},
	}
	for _, a := range answers {
		script = append(script, testexe.Step{Print: a})
	}
	return script
}

const (
	rawHello = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}}}}`
	rawDone  = `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`
)

// The answer of an agent that ends right after it counts.
func TestACPAnswersAndEnds(t *testing.T) {
	for range 20 {
		s, err := startACP(t, patient, raw(rawHello, rawDone)...).open(t, "")
		if err != nil {
			t.Fatal(err)
		}
		says(t, s, "hi", "hello")
		isOver(t, s)
	}
}

func TestACPNonsense(t *testing.T) {
	const other = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"t","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"other"}}}}`
	for name, lines := range map[string][]string{
		"answers twice":           {rawHello, rawDone, rawDone, rawDone},
		"answers what none asked": {`{"jsonrpc":"2.0","id":77,"result":{}}`, `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"s3cret"}}`, rawHello, rawDone},
		"lines that are none":     {" ", "warning: s3cret", "{", "[]", "{}", `{"id":null}`, `{"method":7}`, rawHello, rawDone},
		"updates of tomorrow":     {other, strings.Replace(rawHello, "agent_message_chunk", "dance", 1), strings.Replace(rawHello, `{"type":"text","text":"hello"}`, `[1]`, 1), rawHello, rawDone},
		"unknown requests":        {`{"jsonrpc":"2.0","id":1,"method":"dance","params":{}}`, `{"jsonrpc":"2.0","method":"_dance"}`, `{"jsonrpc":"2.0","id":2,"method":"session/request_permission","params":7}`, rawHello, rawDone},
		"cancels nothing":         {`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}`, rawHello, rawDone},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := startACP(t, patient, append(raw(lines...), testexe.Step{ReadAll: true})...).open(t, "")
			if err != nil {
				t.Fatal(err)
			}
			says(t, s, "hi", "hello")
			lasts(t, s)
		})
	}
}

// What is no agent of this kind at all is found out, and told in a sentence.
func TestACPNotAnAgent(t *testing.T) {
	hasty := acpLimits{300 * time.Millisecond, acpTestLimit, 300 * time.Millisecond}
	for _, c := range []struct {
		name   string
		script testexe.Script
		err    error
	}{
		{"ends", testexe.Script{{Print: "usage: fake"}, {Exit: testexe.Code(2)}}, errACPEnded},
		{"silent", testexe.Script{{ReadAll: true}}, errACPSlow},
		{"deaf", testexe.Script{{SleepMillis: 60_000}}, errACPSlow},
		{"chatter", testexe.Script{{WriteBytes: acpNoise + 64}, {ReadAll: true}}, errACPNoise},
		{"one long line", testexe.Script{{Print: strings.Repeat("x", 60<<10)}, {ReadAll: true}}, errACPSlow},
		{"echo", testexe.Script{{Echo: true}}, nil},
		{"no name", testexe.Script{{ReadLine: true}, {Print: `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`}, {ReadLine: true}, {Print: `{"jsonrpc":"2.0","id":2,"result":{}}`}, {ReadAll: true}}, errACPNoID},
		{"wrong type", testexe.Script{{ReadLine: true}, {Print: `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1"}}`}, {ReadAll: true}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			limits := patient
			if c.err == errACPSlow {
				limits = hasty
			}
			_, err := startACP(t, limits, c.script...).open(t, "")
			if err == nil || (c.err != nil && !errors.Is(err, c.err)) || !strings.HasPrefix(err.Error(), `the agent "fake" gave no reply: `) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A task that nobody takes ends the turn.
func TestACPDeafInATurn(t *testing.T) {
	limits := patient
	limits.writing = 100 * time.Millisecond
	s, err := startACP(t, limits, append(raw()[:4], testexe.Step{SleepMillis: 60_000})...).open(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn(t, s, strings.Repeat("x", 1<<20)); !errors.Is(err, errACPDeaf) {
		t.Errorf("%v", err)
	}
	isOver(t, s)
}

// An agent that asks and asks and reads no answer is not given room without end.
func TestACPAsksWithoutReading(t *testing.T) {
	limits := patient
	limits.writing = 200 * time.Millisecond
	ask := `{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"path":"` + strings.Repeat("x", 500) + `"}}` + "\n"
	file := filepath.Join(t.TempDir(), "asks")
	if err := os.WriteFile(file, []byte(strings.Repeat(ask, 20_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startACP(t, limits, raw()...)
	s, err := p.open(t, "")
	if err != nil {
		t.Fatal(err)
	}
	inner := s.(*acpSession)
	asks, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer asks.Close()
	// The same session over a stream of questions, and a reader of the answers who never reads.
	_, silent := io.Pipe()
	flooded := newACPSession(inner.agent, silent, asks)
	isOver(t, flooded)
	if !errors.Is(flooded.ended(), errACPDeaf) {
		t.Errorf("%v", flooded.ended())
	}
	flooded.gate.mu.Lock()
	defer flooded.gate.mu.Unlock()
	if flooded.gate.asked > acpQueue {
		t.Errorf("%d questions were taken in", flooded.gate.asked)
	}
}

// The library is handed no more than is handled.
func TestACPGate(t *testing.T) {
	line := `{"jsonrpc":"2.0","method":"session/update","params":{}}` + "\n"
	over := make(chan struct{})
	var why error
	g := newACPGate(strings.NewReader(strings.Repeat(line, 2*acpQueue)), io.Discard, time.Second, over, func(err error) {
		if why == nil {
			why = err
		}
	})
	read := make(chan int)
	go func() {
		n, _ := io.Copy(io.Discard, g)
		read <- int(n) / len(line)
	}()
	cameTo := func(n int) {
		t.Helper()
		for end := time.Now().Add(acpTestLimit); ; time.Sleep(time.Millisecond) {
			g.mu.Lock()
			came := g.came
			g.mu.Unlock()
			if came == n {
				return
			}
			if came > n || time.Now().After(end) {
				t.Fatalf("%d messages came, want %d", came, n)
			}
		}
	}
	for n := range acpQueue {
		cameTo(acpQueue + n)
		g.note(&g.handled)
	}
	cameTo(2 * acpQueue)
	select {
	case <-read:
		t.Error("the end came before the last message was handled")
	default:
	}
	for range acpQueue {
		g.note(&g.handled)
	}
	if n := <-read; n != 2*acpQueue || !errors.Is(why, errACPEnded) {
		t.Errorf("%d messages, %v", n, why)
	}
}
