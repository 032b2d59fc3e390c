package feishu

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"scv/daemon/channel"
)

func TestContent(t *testing.T) {
	r := renderer{bot: "ou_bot", mentions: []mention{
		{"@_user_1", "ou_bot", "Bot"},
		{"@_user_10", "ou_x", "Xu"},
		{"@_user_2", "ou_y", "王"},
		{"", "ou_z", "nobody"},
		{"@_user_3", "ou_v", "V\n\nyes\u2028all"},
	}}
	for _, c := range []struct {
		kind, content, text string
		files               string // their kinds, names and keys
	}{
		{"text", `{"text":"@_user_1 ask @_user_10 and @_user_2"}`, "ask @Xu and @王", ""},
		{"text", `{"text":"  "}`, "", ""},
		{"text", `{"text":"ask @_user_3"}`, "ask @V  yes all", ""}, // a name makes no line of its own
		{"post", `{"content":[[{"tag":"at","user_id":"@_user_3"},{"tag":"at","user_id":"@_x","user_name":"A\r\nB"}]]}`, "@V  yes all@A  B", ""},
		{"text", `{`, "[a text that cannot be read]", ""},
		{
			"post", `{"title":"Plan","content":[[{"tag":"at","user_id":"@_user_1"},{"tag":"text","text":"see "},{"tag":"a","text":"this","href":"https://x"}],` +
				`[{"tag":"img","image_key":"k"},{"tag":"emotion","emoji_type":"SMILE"},{"tag":"at","user_id":"@_all","user_name":"everyone"}],[{"tag":"code_block","text":"go vet"}]]}`,
			"Plan\nsee this (https://x)\n[image][SMILE]@everyone\ngo vet", "image::k ",
		},
		{"post", `{"zh_cn":{"title":"","content":[[{"tag":"text","text":"你好"}]]}}`, "你好", ""},
		{"post", `{"title":"","content":[[{"tag":"img"}],[{"tag":"media","file_key":"v","image_key":"still"}]]}`, "", "image:: video::v "},
		{"post", `[]`, "[a post that cannot be read]", ""},
		{"image", `{"image_key":"k"}`, "", "image::k "},
		{"file", `{"file_key":"k","file_name":"a"}`, "", "document:a:k "},
		{"audio", `{"file_key":"k"}`, "", "voice::k "},
		{"media", `{"file_key":"k","image_key":"still","file_name":"m.mp4"}`, "", "video:m.mp4:k "},
		{"file", `{`, "", "document:: "},
		{"sticker", `{}`, "[sticker]", ""},
		{"location", `{"name":"Office"}`, "[location Office]", ""},
		{"interactive", `{"title":"T","elements":[[{"tag":"text","text":"hello"},{"tag":"button","text":"Go"}]]}`, "[card] T\nhello\nGo", ""},
		{"interactive", `{"text":"` + strings.Repeat("是", 2000) + `"}`, "[card] " + strings.Repeat("是", 665) + "…", ""},
		{"vote", `{}`, "[vote message]", ""},
	} {
		text, files := r.render(c.kind, c.content)
		var got string
		for _, f := range files {
			got += string(f.kind) + ":" + f.name + ":" + f.key + " "
		}
		if text != c.text || got != c.files {
			t.Errorf("%s %.60s: %q with %q, want %q with %q", c.kind, c.content, text, got, c.text, c.files)
		}
	}
}

const anEvent = `{"schema":"2.0","header":{"event_type":"im.message.receive_v1","event_id":"e"},"event":{
	"sender":{"sender_type":%q,"sender_id":{"open_id":"ou_a","union_id":"on_a"}},
	"message":{"message_id":%q,"chat_id":"oc_1","chat_type":%q,"message_type":"text","content":"{\"text\":\"hi\"}",
	"create_time":"1700000000123","parent_id":"om_p","root_id":"om_r","thread_id":"omt_1",
	"mentions":[{"key":"@_user_1","id":{"open_id":"ou_bot"},"name":"Bot"}]}}}`

const aRecord = `{"message_id":"om_1","chat_id":"oc_1","msg_type":"text","body":{"content":"{\"text\":\"hi\"}"},
	"create_time":"1700000000123","parent_id":"om_p","root_id":"om_r","thread_id":"omt_1",
	"sender":{"id":"ou_a","id_type":"open_id","sender_type":"user"},"mentions":[{"key":"@_user_1","id":"ou_bot","id_type":"open_id","name":"Bot"}]}`

// The same message looks the same, whether it was pushed or listed.
func TestBothFormsAreOneMessage(t *testing.T) {
	pushed, ours, err := parseEvent(fmt.Appendf(nil, anEvent, "user", "om_1", "group"))
	if err != nil || !ours {
		t.Fatalf("ours %v: %v", ours, err)
	}
	var r record
	if err := channel.ReadJSON([]byte(aRecord), &r); err != nil {
		t.Fatal(err)
	}
	if listed := r.item("oc_1", false); fmt.Sprint(listed) != fmt.Sprint(pushed) {
		t.Errorf("pushed %+v\nlisted %+v", pushed, listed)
	}
	if !pushed.sent.Equal(time.UnixMilli(1700000000123)) || pushed.sender != "ou_a" {
		t.Errorf("got %+v", pushed)
	}
}

func TestWhomItConcerns(t *testing.T) {
	for _, c := range []struct {
		sender, chat, bot string
		want              bool
	}{
		{"user", "p2p", "ou_bot", true},
		{"user", "p2p", "", true},
		{"user", "group", "ou_bot", true},
		{"user", "group", "ou_other", false},
		{"user", "group", "", false},
		{"app", "p2p", "ou_bot", false},
		{"app", "group", "ou_bot", false},
	} {
		it, _, err := parseEvent(fmt.Appendf(nil, anEvent, c.sender, "om_1", c.chat))
		if err != nil || it.concerns(c.bot) != c.want {
			t.Errorf("%+v: %v, %v", c, it.concerns(c.bot), err)
		}
	}
	for id, want := range map[string]bool{"": true, "a\nb": true, strings.Repeat("x", 257): true, strings.Repeat("x", 256): false} {
		if _, ours, err := parseEvent(fmt.Appendf(nil, anEvent, "user", id, "p2p")); !ours || (err != nil) != want {
			t.Errorf("id %q: %v, %v", id, ours, err)
		}
	}
	if _, ours, err := parseEvent([]byte(`{"header":{"event_type":"im.message.message_read_v1"}}`)); ours || err != nil {
		t.Errorf("a read event: %v, %v", ours, err)
	}
	if _, _, err := parseEvent([]byte(`{`)); err == nil {
		t.Error("half an event is taken")
	}
}

func TestWordsOfAnAgentMentionNobody(t *testing.T) {
	for in, want := range map[string]string{
		`<at user_id="all"></at> <AT id=x> <b> < at`: "<\u200bat user_id=\"all\"></at> <\u200bAT id=x> <b> < at",
		"plain": "plain",
	} {
		if got := harmless(in); got != want {
			t.Errorf("%q becomes %q", in, got)
		}
	}
	short, long := strings.Repeat("x", 50), strings.Repeat("x", 51)
	if uuid(short) != short || len(uuid(long)) > 50 || uuid(long) == uuid(long+"y") {
		t.Errorf("%q, %q", uuid(short), uuid(long))
	}
}

func TestCheckpoint(t *testing.T) {
	c, err := parseCheckpoint("")
	if err != nil {
		t.Fatal(err)
	}
	say := func(chat, sender string, ms int64) {
		c.note(item{chat: chat, listed: true, sender: sender, direct: true, sent: time.UnixMilli(ms)}, "ou_owner", true)
	}
	say("oc_owner", "ou_owner", 5)
	say("oc_owner", "", 9) // our own words
	say("oc_owner", "ou_owner", 7)
	for i := range maxChats {
		say(fmt.Sprint("oc_", i), "ou_x", int64(100+i))
	}
	if len(c.Chats) != maxChats || c.Chats["oc_owner"] != (place{Owner: true, LastMS: 9}) || c.Chats["oc_0"] != (place{}) {
		t.Errorf("%d chats, the owner's %+v, the oldest %+v", len(c.Chats), c.Chats["oc_owner"], c.Chats["oc_0"])
	}
	if order := newest(c.Chats); order[0] != "oc_owner" || order[1] != fmt.Sprint("oc_", maxChats-1) {
		t.Errorf("order %v", order[:2])
	}
	c.note(item{chat: "oc_g", thread: "omt_1", sender: "ou_x", sent: time.UnixMilli(500)}, "ou_owner", true)
	if c.Threads["omt_1"] != (place{Chat: "oc_g", Group: true, LastMS: 500}) {
		t.Errorf("thread %+v", c.Threads["omt_1"])
	}
	if c.know("oc_owner", 1000) || !c.know("oc_new", 1000) || c.know("", 1) {
		t.Error("it knows what it does not, or not what it does")
	}
	text, err := c.format()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := parseCheckpoint(text); err != nil || fmt.Sprint(back) != fmt.Sprint(c) {
		t.Errorf("%+v, %v", back, err)
	}
	if c, err := parseCheckpoint("{"); err == nil || c.Chats == nil || c.Threads == nil {
		t.Errorf("half a checkpoint is %+v, %v", c, err)
	}
}

func TestCredentials(t *testing.T) {
	good := Credentials{AppID: "cli_a1", AppSecret: "s3cret", Brand: Lark, OwnerOpenID: "ou_1"}
	saved, err := good.Format()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := Parse(saved); err != nil || back != good {
		t.Errorf("%+v, %v", back, err)
	}
	rotated, other, unowned := good, good, good
	rotated.AppSecret, other.AppID, unowned.OwnerOpenID = "new", "cli_a2", ""
	if rotated.Identity() != good.Identity() || rotated.Fingerprint() == good.Fingerprint() {
		t.Error("a new secret is another identity, or no change")
	}
	if other.Identity() == good.Identity() || unowned.Identity() == good.Identity() {
		t.Error("another app or owner is the same identity")
	}
	for _, bad := range []string{
		`{"app_id":"cli_a","app_secret":"s3cret","more":1}`, `{"app_id":"cli_a"}`, `{"app_id":"a","app_secret":"s3cret"}`, `{`,
		`{"app_id":"cli_a","app_secret":"s3cret\n"}`, `{"app_id":"cli_a","app_secret":"s3cret","brand":"x"}`,
		`{"app_id":"cli_a","app_secret":"s3cret","owner_open_id":"x"}`,
	} {
		if c, err := Parse([]byte(bad)); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %+v, %v", bad, c, err)
		}
	}
	if c, err := Parse([]byte(`{"app_id":"cli_a","app_secret":"s"}`)); err != nil || c.Brand != Feishu {
		t.Errorf("%+v, %v", c, err)
	}
}
