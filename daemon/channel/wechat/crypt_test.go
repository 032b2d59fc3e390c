package wechat

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"scv/daemon/channel"
)

var key = []byte("0123456789abcdef")

func seal(t interface{ Fatal(...any) }, plain []byte, wrap func(io.Reader) io.Reader) []byte {
	s, err := newSealer(wrap(bytes.NewReader(plain)), key)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := io.ReadAll(s)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func same(r io.Reader) io.Reader { return r }

// Whatever is encrypted comes back, also where it is read in small pieces, and no byte beyond the limit.
func TestSealing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(chunk-20, chunk+20), rapid.IntRange(3*chunk-20, 3*chunk+20)).Draw(t, "bytes")
		plain := bytes.Repeat([]byte("letters and 16-byte blocks.\n"), n/28+1)[:n]
		wrap := rapid.SampledFrom([]func(io.Reader) io.Reader{same, iotest.HalfReader, iotest.DataErrReader}).Draw(t, "reader")
		sealed := seal(t, plain, wrap)
		if int64(len(sealed)) != sealedSize(int64(n)) {
			t.Fatalf("%d bytes become %d", n, len(sealed))
		}
		var out bytes.Buffer
		if err := unseal(&out, wrap(bytes.NewReader(sealed)), key, int64(n)); err != nil || !bytes.Equal(out.Bytes(), plain) {
			t.Fatalf("%d bytes come back as %d: %v", n, out.Len(), err)
		}
		if n > 0 {
			out.Reset()
			room := int64(rapid.IntRange(0, n-1).Draw(t, "limit"))
			if err := unseal(&out, bytes.NewReader(sealed), key, room); !errors.Is(err, channel.ErrTooLarge) || int64(out.Len()) > room {
				t.Fatalf("%d of at most %d bytes: %v", out.Len(), room, err)
			}
		}
	})
}

func TestWhatWasNotSealedSo(t *testing.T) {
	good := seal(t, []byte("hello"), same)
	for name, sealed := range map[string][]byte{
		"nothing": {}, "a part of a block": good[:15], "a block and a part": append(bytes.Clone(good), 1), "another key's": bytes.Repeat([]byte{7}, 32),
	} {
		if err := unseal(io.Discard, bytes.NewReader(sealed), key, 100); !errors.Is(err, errPadding) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(good)))
	if err := unseal(io.Discard, broken, key, 100); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a connection that was lost: %v", err)
	}
	if err := unseal(io.Discard, bytes.NewReader(good), key[:5], 100); !errors.Is(err, errKey) {
		t.Errorf("a short key: %v", err)
	}
}

func TestPlainFilesHaveALimit(t *testing.T) {
	for _, c := range []struct {
		limit int64
		want  error
	}{{5, nil}, {6, nil}, {4, channel.ErrTooLarge}, {0, channel.ErrTooLarge}} {
		var out bytes.Buffer
		if err := channel.CopyAtMost(&out, bytes.NewReader([]byte("hello")), c.limit); !errors.Is(err, c.want) || int64(out.Len()) > c.limit {
			t.Errorf("limit %d: %d bytes, %v", c.limit, out.Len(), err)
		}
	}
}
