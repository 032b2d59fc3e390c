package feishutest

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFrame(t)
		got, err := decode(f.encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f, got); diff != "" {
			t.Errorf("frame (-want +got):\n%s", diff)
		}
	})
}

func drawFrame(t *rapid.T) *frame {
	text := rapid.String()
	f := &frame{
		SeqID: rapid.Uint64().Draw(t, "seq"), LogID: rapid.Uint64().Draw(t, "log"),
		Service: rapid.Int32().Draw(t, "service"), Method: rapid.Int32().Draw(t, "method"),
		PayloadEncoding: text.Draw(t, "encoding"), PayloadType: text.Draw(t, "type"), LogIDNew: text.Draw(t, "new"),
		Payload: rapid.SliceOfN(rapid.Byte(), 1, 1000).Draw(t, "payload"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "headers") {
		f.Headers = append(f.Headers, header{text.Draw(t, "key"), text.Draw(t, "value")})
	}
	return f
}

func TestBrokenFramesAreNone(t *testing.T) {
	whole := (&frame{Service: 7, Method: data, Headers: []header{{"type", "event"}}, Payload: []byte("{}")}).encode()
	// What may be cut off is what is optional: the payload, the header before it.
	for i := range len(whole) {
		f, err := decode(whole[:i])
		if mayEnd := i == 8 || i == 8+15 || i == len(whole); (err == nil) != mayEnd {
			t.Errorf("%d of %d bytes: %+v, %v", i, len(whole), f, err)
		}
	}
	for name, text := range map[string]string{
		"a missing method":      "080010001800",
		"a header without key":  "08001000180020002a0212" + "00",
		"a header without text": "08001000180020002a020a" + "00",
		"an unknown field":      "0800100018002000" + "5001",
		"a fixed number":        "0900000000000000001000180020" + "00",
	} {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := decode(raw); err == nil {
			t.Errorf("%s is a frame: %+v", name, f)
		}
	}
	rapid.Check(t, func(t *rapid.T) { _, _ = decode(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) })
}
