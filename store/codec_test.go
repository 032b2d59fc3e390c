package store

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"scv/wire"
)

func TestRecordsComeBackEqual(t *testing.T) {
	now := newClock().Now()
	want := Confirm{
		ID: "0123456789ab", Code: "3f", Question: "a <b> & \u2028 \"c\"", Timeout: 4 * time.Hour, Asked: now, Noted: now,
		LastPolled: now, Elapsed: 1, State: wire.Yes, Ended: now, Opened: now.Wall,
		Receipt: &wire.ConfirmReceipt{Sender: "o", AtUnixMillis: 1 << 60},
	}
	raw, err := encode(want)
	must(t, err)
	if !strings.HasPrefix(string(raw), `{"v":1,"id":"0123456789ab",`) {
		t.Errorf("record does not begin with its version: %s", raw)
	}
	if !strings.Contains(string(raw), `"timeout":14400000000000`) {
		t.Errorf("durations are not nanoseconds: %s", raw)
	}
	got, err := decode[Confirm](raw)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// sample is a good record in whose bytes the tests make one fault each.
const sample = `{"v":1,"account":"local:default","chat":"main","terminal":true,` +
	`"at":{"wall":"2026-11-29T12:00:00Z","boot_id":"b","since_boot":5}}`

func TestDecodeRefuses(t *testing.T) {
	if _, err := decode[LastOwner]([]byte(sample)); err != nil {
		t.Fatalf("the sample itself is refused: %v", err)
	}
	for name, c := range map[string]struct{ raw, want string }{
		"empty":           {"", "empty"},
		"garbage":         {"\x00\xff\x17garbage", "not one JSON object"},
		"open brace":      {"{", "does not begin with its version"},
		"null":            {"null", "not one JSON object"},
		"array":           {"[1]", "not one JSON object"},
		"no version":      {strings.Replace(sample, `"v":1,`, "", 1), "does not begin with its version"},
		"version null":    {strings.Replace(sample, `"v":1`, `"v":null`, 1), "does not begin with its version"},
		"version text":    {strings.Replace(sample, `"v":1`, `"v":"1"`, 1), "does not begin with its version"},
		"version 0":       {strings.Replace(sample, `"v":1`, `"v":0`, 1), "has version 0"},
		"version 2":       {strings.Replace(sample, `"v":1`, `"v":2`, 1), "has version 2"},
		"version first":   {`{"v":2,"other":{}}`, "has version 2"},
		"member missing":  {strings.Replace(sample, `"chat":"main",`, "", 1), `"/chat" is missing`},
		"member null":     {strings.Replace(sample, `"main"`, `null`, 1), `"/chat" is null`},
		"member number":   {strings.Replace(sample, `"main"`, `7`, 1), `"/chat" has a wrong value`},
		"inner missing":   {strings.Replace(sample, `"boot_id":"b",`, "", 1), `"/at/boot_id" is missing`},
		"inner null":      {strings.Replace(sample, `"since_boot":5`, `"since_boot":null`, 1), `"/at/since_boot" is null`},
		"inner fraction":  {strings.Replace(sample, `"since_boot":5`, `"since_boot":5.5`, 1), "wrong value"},
		"object as array": {strings.Replace(sample, `{"wall"`, `[{"wall"`, 1), "wrong type"},
		"object as text":  {sample[:strings.Index(sample, `{"wall"`)] + `"now"}`, "wrong type"},
		"duplicate":       {strings.Replace(sample, `"chat":"main"`, `"chat":"main","chat":"x"`, 1), "not one JSON object"},
		"miscased":        {strings.Replace(sample, `"chat"`, `"Chat"`, 1), `"/chat" is missing`},
		"trailing":        {sample + "{}", "not one JSON object"},
		"cut off":         {sample[:len(sample)-1], "not one JSON object"},
		"cut in a string": {sample[:30], "not one JSON object"},
		"bad UTF-8":       {strings.Replace(sample, "main", "ma\xffn", 1), "not one JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode[LastOwner]([]byte(c.raw))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something with %q", err, c.want)
			}
		})
	}
}

func TestDecodeToleratesWhatItDoesNotKnow(t *testing.T) {
	raw := strings.Replace(sample, `"chat"`, `"later":{"a":[null,1]},"chat"`, 1)
	got, err := decode[LastOwner]([]byte(raw))
	if err != nil || got.Chat != "main" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestDecodeErrorsQuoteNoText(t *testing.T) {
	for _, raw := range []string{
		`{"v":1,"kind":"reply","text":"hunter2`,
		`{"v":1,"kind":"reply","text":{"hunter2":"hunter2"},"at":"hunter2"}`,
		`{"v":1,"kind":"reply","text":"x","at":"hunter2"}`,
		`hunter2`,
	} {
		if _, err := decode[ChatLine]([]byte(raw)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"v":1,"ties":[null,{"pid":1}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		rec, err := decode[Delegation](raw)
		if err != nil {
			return
		}
		again, err := encode(rec)
		must(t, err)
		back, err := decode[Delegation](again)
		must(t, err)
		if diff := cmp.Diff(rec, back); diff != "" {
			t.Error(diff)
		}
	})
}
