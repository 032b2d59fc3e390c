package wire

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMutatedMessages decodes messages that were changed at random: what is accepted is understood in one way only,
// and nothing of it stays in memory. SCV_DECODES sets how many; the fuzzers search more deeply, and far slower.
func TestMutatedMessages(t *testing.T) {
	count := whole(t, "SCV_DECODES", 50_000)
	seed := uint64(whole(t, "SCV_DECODE_SEED", int(time.Now().UnixNano()%1e9)))
	t.Logf("%d decodes, seed %d (SCV_DECODE_SEED=%d repeats it)", count, seed, seed)
	var all []vector
	for _, path := range []string{seedVectors, extensionVectors} {
		all = append(all, readVectors(t, path)...)
	}
	names := slices.Sorted(maps.Keys(messages))
	random := rand.New(rand.NewPCG(seed, 1))
	accepted, before := 0, heap()
	for range count {
		v := all[random.IntN(len(all))]
		name := v.Type
		if messages[name] == nil || random.IntN(8) == 0 {
			name = names[random.IntN(len(names))]
		}
		data := []byte(v.In)
		for range 1 + random.IntN(3) {
			data = mutate(random, data, []byte(all[random.IntN(len(all))].In))
		}
		if understoodInOneWay(t, messages[name], data) {
			accepted++
		}
	}
	if grown := int64(heap()) - int64(before); grown > 4<<20 {
		t.Errorf("%d bytes more are in use", grown)
	}
	if accepted == 0 || accepted == count {
		t.Errorf("%d of %d were accepted: this shows nothing", accepted, count)
	}
	t.Logf("%d were accepted", accepted)
}

// whole is a number from the environment.
func whole(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// telling are pieces that a decoder may take wrongly.
var telling = []string{
	`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, `null`, `true`, `-1`, `1e400`, `18446744073709551616`, `\u0000`, `\ud800`, "\xff", "\x00", "\u202e",
	strings.Repeat("[", 2000), strings.Repeat(`{"a":`, 2000), strings.Repeat("9", 400),
}

// mutate makes one change.
func mutate(random *rand.Rand, data, other []byte) []byte {
	at := random.IntN(len(data) + 1)
	end := min(len(data), at+random.IntN(16))
	switch random.IntN(6) {
	case 0:
		if at < len(data) {
			data[at] ^= 1 << random.IntN(8)
		}
		return data
	case 1:
		return slices.Delete(data, at, end)
	case 2:
		return slices.Insert(data, at, bytes.Clone(data[at:end])...)
	case 3:
		return slices.Insert(data, at, []byte(telling[random.IntN(len(telling))])...)
	case 4:
		return append(data[:at:at], other[random.IntN(len(other)+1):]...)
	}
	return data[:at]
}
