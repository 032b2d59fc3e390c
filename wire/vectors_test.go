package wire

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vector is one line of a vector file: OK is what In encodes to again, Err means it is refused.
type vector struct {
	Type string `json:"type"`
	In   string `json:"in"`
	OK   string `json:"ok"`
	Err  bool   `json:"err"`
	Why  string `json:"why"`
}

// again decodes a message and encodes what it understood.
type again func([]byte) ([]byte, error)

func messageAgain[T any, P Message[T]](data []byte) ([]byte, error) {
	v, err := Decode[T, P](data)
	if err != nil {
		return nil, err
	}
	return Encode(v)
}

func valueAgain[T any](read func(*reader) (T, error)) again {
	return func(data []byte) ([]byte, error) {
		v, err := decode(data, read)
		if err != nil {
			return nil, err
		}
		return Encode(v)
	}
}

func commandAgain(data []byte) ([]byte, error) {
	c, err := DecodeCommand(data)
	if err != nil {
		return nil, err
	}
	return EncodeCommand(c)
}

// messages holds every type of the language by its name. TestEveryTypeHasVectors keeps it whole.
var messages = map[string]again{
	"DaemonCommand":        commandAgain,
	"DaemonStatus":         messageAgain[DaemonStatus],
	"ComponentHealth":      messageAgain[ComponentHealth],
	"DelegationSummary":    messageAgain[DelegationSummary],
	"DelegationInfo":       messageAgain[DelegationInfo],
	"RestartInfo":          messageAgain[RestartInfo],
	"ConfirmInfo":          messageAgain[ConfirmInfo],
	"ComponentState":       valueAgain(readComponentState),
	"RemoteTools":          valueAgain(readRemoteTools),
	"Senders":              valueAgain(readSenders),
	"ConfirmState":         valueAgain(readConfirmState),
	"AccountSet":           messageAgain[AccountSet],
	"AccountSettings":      messageAgain[AccountSettings],
	"ChatSend":             messageAgain[ChatSend],
	"ChatSent":             messageAgain[ChatSent],
	"ChatAttach":           messageAgain[ChatAttach],
	"ChatAttached":         messageAgain[ChatAttached],
	"ChatLine":             messageAgain[ChatLine],
	"ConfirmReceipt":       messageAgain[ConfirmReceipt],
	"ConfirmDetail":        messageAgain[ConfirmDetail],
	"ConfirmID":            messageAgain[ConfirmID],
	"ConfirmListRequest":   messageAgain[ConfirmListRequest],
	"ConfirmList":          messageAgain[ConfirmList],
	"StoreSnapshotRequest": messageAgain[StoreSnapshotRequest],
	"StoreSnapshot":        messageAgain[StoreSnapshot],
	"DelegationStart":      messageAgain[DelegationStart],
	"DelegationTicket":     messageAgain[DelegationTicket],
	"DelegationRegister":   messageAgain[DelegationRegister],
	"DelegationLease":      messageAgain[DelegationLease],
	"DelegationUpdate":     messageAgain[DelegationUpdate],
	"DelegationHandle":     messageAgain[DelegationHandle],
	"DelegationOutcome":    valueAgain(readDelegationOutcome),
	"DelegationReport":     messageAgain[DelegationReport],
	"DelegationEvidence":   messageAgain[DelegationEvidence],
	"RestartExplain":       messageAgain[RestartExplain],
	"RestartDetail":        messageAgain[RestartDetail],
	"ProcessTied":          messageAgain[ProcessTied],
	"Notify":               messageAgain[Notify],
	"Notified":             messageAgain[Notified],
}

const (
	seedVectors      = "testdata/wire.jsonl"
	extensionVectors = "testdata/extensions.jsonl"
)

var loaded = map[string][]vector{} // by path; the tests of this package run one after the other

func readVectors(tb testing.TB, path string) []vector {
	tb.Helper()
	if loaded[path] == nil {
		loaded[path] = loadVectors(tb, path)
	}
	return loaded[path]
}

func loadVectors(tb testing.TB, path string) []vector {
	tb.Helper()
	file, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	var all []vector
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		if err := stdjson.Unmarshal(lines.Bytes(), &v); err != nil {
			tb.Fatalf("%s line %d: %v", path, len(all)+1, err)
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		tb.Fatalf("%s holds %d vectors: %v", path, len(all), err)
	}
	return all
}

// exact is a JSON text as a value that compares with exact integers, absent not being null.
func exact(t *testing.T, text []byte) any {
	t.Helper()
	d := stdjson.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("not JSON: %v: %s", err, text)
	}
	return v
}

// TestVectors holds the language to the seed's own types, or to the file that SCV_WIRE_VECTORS names.
func TestVectors(t *testing.T) {
	path := seedVectors
	if named := os.Getenv("SCV_WIRE_VECTORS"); named != "" {
		path = named
	}
	for i, v := range readVectors(t, path) {
		checkVector(t, i+1, v)
	}
}

func checkVector(t *testing.T, line int, v vector) {
	t.Helper()
	turn, known := messages[v.Type]
	if !known {
		t.Fatalf("line %d: unknown type %q", line, v.Type)
	}
	got, err := turn([]byte(v.In))
	switch {
	case v.Err && err == nil:
		t.Errorf("line %d: %s accepted as %s\n%s\nthe seed: %s", line, v.Type, got, v.In, v.Why)
	case !v.Err && err != nil:
		t.Errorf("line %d: %s refused: %v\n%s", line, v.Type, err, v.In)
	case !v.Err:
		if diff := cmp.Diff(exact(t, []byte(v.OK)), exact(t, got)); diff != "" {
			t.Errorf("line %d: %s differs (-seed +ours):\n%s", line, v.Type, diff)
		}
	}
}

// TestKeyOrder is stricter than TestVectors: the same bytes, so the seed's order of keys.
func TestKeyOrder(t *testing.T) {
	for _, path := range []string{seedVectors, extensionVectors} {
		for i, v := range readVectors(t, path) {
			if v.Err {
				continue
			}
			if got, _ := messages[v.Type]([]byte(v.In)); string(got) != v.OK {
				t.Errorf("%s line %d:\n got %s\nwant %s", path, i+1, got, v.OK)
			}
		}
	}
}

func TestExtensionVectors(t *testing.T) {
	for i, v := range readVectors(t, extensionVectors) {
		checkVector(t, i+1, v)
	}
}

// TestEveryTypeHasVectors fails for a type with no accepted or no refused line.
func TestEveryTypeHasVectors(t *testing.T) {
	accepted, refused := map[string]int{}, map[string]int{}
	for _, v := range slices.Concat(readVectors(t, seedVectors), readVectors(t, extensionVectors)) {
		if v.Err {
			refused[v.Type]++
		} else {
			accepted[v.Type]++
		}
	}

	for name := range messages {
		if accepted[name] == 0 || refused[name] == 0 {
			t.Errorf("%s has %d accepted and %d refused vectors", name, accepted[name], refused[name])
		}
	}
}
