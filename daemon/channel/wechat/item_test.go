package wechat

import (
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"scv/daemon/channel"
	"scv/daemon/channel/wechat/wechattest"
)

func reader() *Adapter { return &Adapter{o: Options{Log: slog.New(slog.DiscardHandler)}} }

// with is a message that says hello, with other JSON in some of its fields.
func with(fields string) jsontext.Value {
	return jsontext.Value(`{"message_id":"m","message_type":1,"from_user_id":"u","context_token":"t",` +
		`"item_list":[{"type":1,"text_item":{"text":"hello"}}],` + fields + `}`)
}

// What the platform calls a message, exactly.
func TestIDs(t *testing.T) {
	for raw, want := range map[string]string{
		`"m-1"`: "m-1", `18446744073709551615`: "18446744073709551615", `9007199254740993`: "9007199254740993", `0`: "0",
		`"` + strings.Repeat("x", 256) + `"`: strings.Repeat("x", 256),
		`-1`:                                 "", `1e3`: "", `1.0`: "", `18446744073709551616`: "", `null`: "", `""`: "", `[1]`: "", `true`: "", `"a\u0000b"`: "",
		`"` + strings.Repeat("x", 257) + `"`: "",
	} {
		m, ok := reader().message(with(`"message_id":` + raw))
		if ok != (want != "") || m.ID != want {
			t.Errorf("%.40s: %q, %v", raw, m.ID, ok)
		}
	}
	old := strings.Replace(string(with(`"x":1`)), `"message_id"`, `"msg_id"`, 1)
	if m, ok := reader().message(jsontext.Value(old)); !ok || m.ID != "m" {
		t.Errorf("by its older name: %+v, %v", m, ok)
	}
	if _, ok := reader().message(with(`"message_id":null,"msg_id":"old"`)); ok {
		t.Error("an id that is null is replaced by another")
	}
}

// Who wrote it, where, and when.
func TestWhoAndWhere(t *testing.T) {
	for fields, want := range map[string]bool{
		`"x":1`: true, `"message_type":2`: false, `"message_type":null`: false, `"message_type":"1"`: false,
		`"from_user_id":""`: false, `"from_user_id":7`: false, `"from_user_id":"a\nb"`: false,
		`"context_token":""`: false, `"context_token":null`: false, `"context_token":"a\nb"`: false,
		`"item_list":[]`: false, `"item_list":null`: false, `"item_list":{}`: false, `"item_list":[7,{"type":99},{"type":11}]`: false,
		`"item_list":[{"type":1,"text_item":{"text":"  "}}]`: false, `"item_list":[7,{"text_item":{"text":"x"}}]`: true,
	} {
		if _, ok := reader().message(with(fields)); ok != want {
			t.Errorf("%s: %v", fields, ok)
		}
	}
	for _, raw := range []string{``, `7`, `null`, `{`, `"text"`} {
		if _, ok := reader().message(jsontext.Value(raw)); ok {
			t.Errorf("%q is a message", raw)
		}
	}
	for raw, want := range map[string]string{
		`null`: "", `""`: "", `"g"`: "g", `7`: "7", `{"id":7}`: `{"id":7}`, `false`: "false", `"a\u0000b"`: `"a\u0000b"`,
	} {
		m, _ := reader().message(with(`"group_id":` + raw))
		group := m.Chat
		if m.Direct {
			group = ""
		}
		if group != want || m.Sender != "u" {
			t.Errorf("group %s: %+v", raw, m)
		}
	}
	for raw, want := range map[string]time.Time{
		`1700000000123`: time.UnixMilli(1700000000123), `"1700000000123"`: time.UnixMilli(1700000000123),
		`0`: {}, `-5`: {}, `null`: {}, `""`: {}, `"soon"`: {}, `1e300`: {}, `9223372036854775807`: {},
	} {
		if m, _ := reader().message(with(`"create_time_ms":` + raw)); !m.SentAt.Equal(want) || m.SentAt.IsZero() != want.IsZero() {
			t.Errorf("time %s: %v", raw, m.SentAt)
		}
	}
}

// What a message becomes, by all that the platform vouches for.
func TestMessages(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.start()
	said := w.say("hello")
	grouped := w.p.Say(w.bot.ID, "someone", "hi", wechattest.InGroup("g"))
	quoting := w.say("yes", wechattest.Quote("a title", "the question"))
	byID := w.say("yes", wechattest.QuoteID(said))
	spoken := w.say("", wechattest.Voice([]byte("silk"), "yes"))
	w.p.Say(w.bot.ID, w.bot.Owner, "the bot's own", wechattest.FromBot())
	timeless := w.say("late", wechattest.With("create_time_ms", nil))
	got := w.Await(6)
	owner := func(id, text string) channel.Message {
		return channel.Message{ID: id, Chat: w.bot.Owner, Sender: w.bot.Owner, Direct: true, Text: text}
	}
	want := []channel.Message{
		owner(said, "hello"),
		{ID: grouped, Chat: "g", Sender: "someone", Text: "hi"},
		owner(quoting, "yes"),
		owner(byID, "yes"),
		owner(spoken, "[voice message] yes"),
		owner(timeless, "late"),
	}
	want[2].Quotes, want[2].Quoted = unnamed, "a title | the question"
	want[3].Quotes = said
	for i, m := range got {
		if m.ReplyHandle == "" || m.SentAt.IsZero() != (m.ID == timeless) {
			t.Errorf("message %+v", m)
		}
		if m.SentAt, m.ReplyHandle = (time.Time{}), ""; !reflect.DeepEqual(m, want[i]) {
			t.Errorf("got  %+v\nwant %+v", m, want[i])
		}
	}
	w.Stop()
}

func TestContent(t *testing.T) {
	const media = `"media":{"encrypt_query_param":"p","aes_key":"MDEyMzQ1Njc4OWFiY2RlZg=="}`
	const ref = `{"param":"p","key":"30313233343536373839616263646566"}`
	for _, c := range []struct {
		name, items string
		want        content
	}{
		{"texts", `{"type":1,"text_item":{"text":" a"}},{"type":1,"text_item":{"text":"b "}}`, content{text: "ab"}},
		{"a file", `{"type":4,"file_item":{` + media + `,"file_name":"a.txt","len":"7"}}`, content{files: []channel.File{{Kind: channel.Document, Name: "a.txt", Size: 7, Ref: ref}}}},
		{"a size as a number", `{"type":4,"file_item":{` + media + `,"len":7}}`, content{files: []channel.File{{Kind: channel.Document, Size: 7, Ref: ref}}}},
		{"a size that is none", `{"type":4,"file_item":{` + media + `,"len":"-7"}}`, content{files: []channel.File{{Kind: channel.Document, Ref: ref}}}},
		{"an image and words", `{"type":2,"image_item":{` + media + `}},{"type":1,"text_item":{"text":"look"}}`, content{text: "look", files: []channel.File{{Kind: channel.Image, Ref: ref}}}},
		{"an image's own key", `{"type":2,"image_item":{` + media + `,"aeskey":"000102030405060708090a0b0c0d0e0f"}}`, content{files: []channel.File{{Kind: channel.Image, Ref: `{"param":"p","key":"000102030405060708090a0b0c0d0e0f"}`}}}},
		{"a key in digits", `{"type":4,"file_item":{"media":{"encrypt_query_param":"p","aes_key":"MzAzMTMyMzMzNDM1MzYzNzM4Mzk2MTYyNjM2NDY1NjY="}}}`, content{files: []channel.File{{Kind: channel.Document, Ref: ref}}}},
		{"a video", `{"type":5,"video_item":{` + media + `}}`, content{files: []channel.File{{Kind: channel.Video, Ref: ref}}}},
		{"unheard words", `{"type":3,"voice_item":{` + media + `}}`, content{files: []channel.File{{Kind: channel.Voice, Ref: ref}}}},
		{"heard words", `{"type":3,"voice_item":{` + media + `,"text":"yes"}}`, content{text: "[voice message] yes"}},
		{"no place", `{"type":4,"file_item":{"file_name":"a"}}`, content{}},
		{"a bad key", `{"type":4,"file_item":{"media":{"encrypt_query_param":"p","aes_key":"AAAA"}}}`, content{files: []channel.File{{Kind: channel.Document}}}},
		{"not encrypted", `{"type":2,"image_item":{"media":{"encrypt_query_param":"p"}}}`, content{files: []channel.File{{Kind: channel.Image, Ref: `{"param":"p"}`}}}},
		{"a place of its own", `{"type":2,"image_item":{"media":{"full_url":"https://x.qq.com/a?b","encrypt_query_param":"p"}}}`, content{files: []channel.File{{Kind: channel.Image, Ref: `{"url":"https://x.qq.com/a?b"}`}}}},
		{"a foreign place", `{"type":2,"image_item":{"media":{"full_url":"https://x.example/a","encrypt_query_param":"p"}}}`, content{files: []channel.File{{Kind: channel.Image, Ref: `{"param":"p"}`}}}},
		{"a place too long to keep", `{"type":2,"image_item":{"media":{"encrypt_query_param":"` + strings.Repeat("p", 5000) + `"}}}`, content{files: []channel.File{{Kind: channel.Image}}}},
		{"a quoted image", `{"type":1,"text_item":{"text":"what?"},"ref_msg":{"message_item":{"type":2,"image_item":{` + media + `}}}}`, content{text: "what?", quotes: unnamed, quoted: "[image]", files: []channel.File{{Kind: channel.Image, Ref: ref}}}},
		{"a quoted file", `{"type":1,"text_item":{"text":"x"},"ref_msg":{"message_item":{"type":4,"file_item":{"file_name":"a.txt"}}}}`, content{text: "x", quotes: unnamed, quoted: "[file a.txt]"}},
		{"a quoted file whose name has lines", `{"type":1,"text_item":{"text":"x"},"ref_msg":{"message_item":{"type":4,"file_item":{"file_name":"a]\nyes\u2028b"}}}}`, content{text: "x", quotes: unnamed, quoted: "[file a] yes b]"}},
		{"quoted speech", `{"type":1,"text_item":{"text":"x"},"ref_msg":{"message_item":{"type":3,"voice_item":{"text":"so"}}}}`, content{text: "x", quotes: unnamed, quoted: "[voice message] so"}},
		{"a quote with an id", `{"type":1,"text_item":{"text":"yes"},"ref_msg":{"message_item":{"type":1,"msg_id":77,"text_item":{"text":"Deploy?"}}}}`, content{text: "yes", quotes: "77", quoted: "Deploy?"}},
		{"no quote", `{"type":1,"text_item":{"text":"yes"},"ref_msg":{}}`, content{text: "yes"}},
		{"a quote of nothing known", `{"type":1,"text_item":{"text":"yes"},"ref_msg":{"message_item":{"type":11}}}`, content{text: "yes", quotes: unnamed}},
		{"a quote of a blank", `{"type":1,"text_item":{"text":"yes"},"ref_msg":{"title":" "}}`, content{text: "yes", quotes: unnamed}},
		{"a quote of another form", `{"type":1,"text_item":{"text":"yes"},"ref_msg":["1"]}`, content{text: "yes", quotes: unnamed}},
		{"a quote of something of another form", `{"type":1,"text_item":{"text":"yes"},"ref_msg":{"message_item":{"text_item":"1"}}}`, content{text: "yes", quotes: unnamed}},
		{"an explicit lack of a quote", `{"type":1,"text_item":{"text":"yes"},"ref_msg":null}`, content{text: "yes"}},
		{"a quote of an odd id", `{"type":1,"text_item":{"text":"yes"},"ref_msg":{"svr_id":["1"]}}`, content{text: "yes", quotes: unnamed}},
	} {
		var items []jsontext.Value
		if err := channel.ReadJSON([]byte("["+c.items+"]"), &items); err != nil {
			t.Fatal(err)
		}
		if got := reader().content(items); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// Whatever stands in a message, what becomes of it is fit for the port, and nothing panics.
func TestAnyMessage(t *testing.T) {
	values := []string{`null`, `0`, `1`, `2`, `-1`, `1e3`, `""`, `"x"`, `"a\u0000b"`, `[]`, `{}`, `[null]`, `true`, `18446744073709551615`, `"\ud800"`}
	names := []string{"message_id", "msg_id", "message_type", "from_user_id", "context_token", "group_id", "create_time_ms", "item_list"}
	inside := []string{
		"type", "msg_id", "text_item", "image_item", "voice_item", "file_item", "video_item", "ref_msg", "media", "full_url",
		"encrypt_query_param", "aes_key", "aeskey", "file_name", "len", "text", "title", "svr_id", "message_item",
	}
	object := func(t *rapid.T, names []string, value *rapid.Generator[string]) string {
		var members []string
		for _, name := range names {
			if rapid.Bool().Draw(t, name) {
				members = append(members, `"`+name+`":`+value.Draw(t, "value of "+name))
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom(values)
		for range 3 { // objects in objects
			deeper := value
			value = rapid.OneOf(rapid.SampledFrom(values), rapid.Custom(func(t *rapid.T) string { return object(t, inside, deeper) }))
		}
		items := "[" + strings.Join(rapid.SliceOfN(value, 0, 4).Draw(t, "items"), ",") + "]"
		others := object(t, names, value)
		raw := with(strings.TrimSuffix(`"item_list":`+items+`,`+others[1:len(others)-1], ","))
		m, ok := reader().message(raw)
		if !ok {
			return
		}
		if !isName(m.ID) || !isName(m.Chat) || !isName(m.Sender) || m.ReplyHandle == "" || m.Text == "" && len(m.Files) == 0 {
			t.Fatalf("%s becomes %+v", raw, m)
		}
		for _, f := range m.Files {
			if len(f.Ref) > maxRef || f.Size < 0 || f.Kind == "" {
				t.Fatalf("%s has the file %+v", raw, f)
			}
		}
	})
}
