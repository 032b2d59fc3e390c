package feishu

import (
	"bytes"
	"encoding/hex"
	"slices"
	"testing"
	"time"
)

// A ping as the vendor's own client writes it: required fields are there though they are zero.
func TestRequiredFieldsAreWritten(t *testing.T) {
	f := frame{service: 7, method: control, headers: []header{{"type", "ping"}}}
	want := "0800" + "1000" + "1807" + "2000" + "2a0c" + "0a0474797065" + "120470696e67"
	if got := hex.EncodeToString(f.encode()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	back, err := decodeFrame(f.encode())
	if err != nil || back.service != 7 || back.get("type") != "ping" || back.hasPayload {
		t.Errorf("it comes back as %+v, %v", back, err)
	}
}

func TestFramesComeBackWhole(t *testing.T) {
	f := frame{
		seq: 1 << 63, log: 5, service: -3, method: data, headers: []header{{"a", ""}, {"", "b"}, {"a", "c"}},
		encoding: "gzip", kind: "json", payload: []byte{}, hasPayload: true, logID: "x",
		unknownBytes: []byte{0x52, 0x01, 0x00}, // field 10
	}
	raw := f.encode()
	back, err := decodeFrame(raw)
	if err != nil {
		t.Fatal(err)
	}
	if again := back.encode(); !bytes.Equal(raw, again) {
		t.Errorf("%x becomes %x", raw, again)
	}
	if back.service != -3 || !slices.Equal(back.headers, f.headers) || !back.hasPayload {
		t.Errorf("got %+v", back)
	}
}

func TestBrokenFramesAreRefused(t *testing.T) {
	whole := (&frame{headers: []header{{"type", "event"}}, payload: []byte("{}"), hasPayload: true}).encode()
	optional := []int{8, 23} // before the header and before the payload, which may be missing
	for n := range len(whole) {
		if f, err := decodeFrame(whole[:n]); err == nil && !slices.Contains(optional, n) {
			t.Errorf("%d bytes of %d are taken: %+v", n, len(whole), f)
		}
	}
	for name, raw := range map[string]string{
		"a required field is missing": "08001000" + "1807",
		"a text for a number":         "0a0100" + "1000" + "1800" + "2000",
		"a group":                     "0b",
	} {
		b, err := hex.DecodeString(raw)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := decodeFrame(b); err == nil {
			t.Errorf("%s: taken as %+v", name, f)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add((&frame{service: 1, headers: []header{{"type", "event"}}, payload: []byte("{}"), hasPayload: true}).encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		first, err := decodeFrame(raw)
		if err != nil {
			return
		}
		again, err := decodeFrame(first.encode())
		if err != nil || !bytes.Equal(first.encode(), again.encode()) {
			t.Errorf("%x does not come back: %v", raw, err)
		}
	})
}

func part(id, sum, seq, payload string) frame {
	return frame{headers: []header{{"message_id", id}, {"sum", sum}, {"seq", seq}}, payload: []byte(payload)}
}

func TestEventsAreAssembled(t *testing.T) {
	var a assembly
	now := time.Now()
	for _, f := range []frame{part("1", "3", "2", "c"), part("2", "2", "0", "x"), part("1", "3", "0", "a"), part("1", "3", "0", "a")} {
		if event, whole := a.add(f, now); whole {
			t.Fatalf("%q is not whole", event)
		}
	}
	if event, whole := a.add(part("1", "3", "1", "b"), now); !whole || string(event) != "abc" {
		t.Errorf("got %q, %v", event, whole)
	}
	if event, whole := a.add(part("2", "2", "1", "y"), now.Add(partialLimit+1)); whole {
		t.Errorf("%q was put together after its time", event)
	}
	if event, whole := a.add(part("", "", "", "alone"), now); !whole || string(event) != "alone" {
		t.Errorf("got %q, %v", event, whole)
	}
}

func TestAssemblyIsBounded(t *testing.T) {
	var a assembly
	now := time.Now()
	for _, f := range []frame{
		part("1", "65", "0", "x"), part("1", "2", "2", "x"), part("1", "2", "-1", "x"), part("1", "2", "x", "x"), part("", "2", "0", "x"),
	} {
		if _, whole := a.add(f, now); whole || len(a.partial) != 0 {
			t.Errorf("%v was taken", f.headers)
		}
	}
	big := string(make([]byte, maxEvent/2+1))
	a.add(part("big", "2", "0", big), now)
	if _, whole := a.add(part("big", "2", "1", big), now); whole || len(a.partial) != 0 {
		t.Error("a huge event was taken")
	}
	if _, whole := a.add(part("", "1", "", big+big), now); whole {
		t.Error("a huge event in one part was taken")
	}
	for i := range maxPartial + 10 {
		a.add(part(string(rune('a'+i)), "2", "0", "x"), now.Add(time.Duration(i)))
	}
	if len(a.partial) != maxPartial || a.partial["a"] != nil {
		t.Errorf("%d are on their way", len(a.partial))
	}
}
