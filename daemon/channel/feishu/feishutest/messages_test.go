package feishutest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestUUIDHoldsForAnHour(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.App()).signIn()
	id := func(uuid string) any { return c.send(uuid, "hello").Data["message_id"] }
	first := id("u-1")
	if again, other, none := id("u-1"), id("u-2"), id(""); again != first || other == first || none == id("") {
		t.Errorf("ids %v, %v, %v, %v", first, again, other, none)
	}
	p.Skew(time.Hour + time.Second)
	if later := id("u-1"); later == first {
		t.Error("a uuid holds for more than an hour")
	}
	if s := p.Sent(); len(s) != 5 || s[0].Repeats != 1 || s[0].To != c.app.Owner || s[0].ToType != "open_id" {
		t.Errorf("sent %+v", s)
	}
}

func TestRefusedMessages(t *testing.T) {
	p := New(t, Options{})
	app := p.App()
	c := newClient(t, p, app).signIn()
	chat, left := p.Direct(app.ID, app.Owner), p.Group(app.ID)
	p.Leave(left, app.ID)
	gone := p.Say(chat, app.Owner, "hello")
	p.Recall(gone)
	const to, text = "/open-apis/im/v1/messages?receive_id_type=", `{"text":"hello"}`
	for name, test := range map[string]struct {
		path string
		body object
		want int
	}{
		"no type":        {"/open-apis/im/v1/messages", object{"receive_id": app.Owner, "msg_type": "text", "content": text}, codeInvalid},
		"of a stranger":  {to + "open_id", object{"receive_id": "ou_nobody", "msg_type": "text", "content": text}, codeNobody},
		"to a group":     {to + "open_id", object{"receive_id": chat, "msg_type": "text", "content": text}, codeInvalid},
		"no JSON":        {to + "chat_id", object{"receive_id": chat, "msg_type": "text", "content": "hello"}, codeInvalid},
		"empty":          {to + "chat_id", object{"receive_id": chat, "msg_type": "text", "content": `{"text":""}`}, codeInvalid},
		"unknown kind":   {to + "chat_id", object{"receive_id": chat, "msg_type": "texts", "content": text}, codeInvalid},
		"unknown image":  {to + "chat_id", object{"receive_id": chat, "msg_type": "image", "content": `{"image_key":"x"}`}, codeInvalid},
		"long uuid":      {to + "chat_id", object{"receive_id": chat, "msg_type": "text", "content": text, "uuid": strings.Repeat("u", 51)}, codeInvalid},
		"long text":      {to + "chat_id", object{"receive_id": chat, "msg_type": "text", "content": encode(object{"text": strings.Repeat("a", maxText)})}, codeTooLong},
		"not in it":      {to + "chat_id", object{"receive_id": left, "msg_type": "text", "content": text}, codeNotInChat},
		"to a recalled":  {"/open-apis/im/v1/messages/" + gone + "/reply", object{"msg_type": "text", "content": text}, codeRecalled},
		"to nothing":     {"/open-apis/im/v1/messages/om_x/reply", object{"msg_type": "text", "content": text}, codeInvalid},
		"good, to group": {to + "chat_id", object{"receive_id": chat, "msg_type": "text", "content": text, "uuid": strings.Repeat("u", 50)}, 0},
	} {
		if res := c.post(test.path, test.body); res.Code != test.want {
			t.Errorf("%s: %d %s, want %d", name, res.Code, res.text, test.want)
		}
	}
	if res := c.do("POST", to+"chat_id", "text/plain", `{}`); res.Code != codeInvalid {
		t.Errorf("a body of no type: %+v", res)
	}
	if n := len(p.Sent()); n != 1 {
		t.Errorf("%d are sent", n)
	}
}

func TestMentionsAreSeen(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.App()).signIn()
	c.send("", `<at user_id="all">all</at> <AT user_id='ou_x'></AT> <at id=all> <`+"\u200b"+`at user_id="all">`)
	if got := p.Sent()[0].Mentions; !slices.Equal(got, []string{"all", "ou_x"}) {
		t.Errorf("mentions %q", got)
	}
}

// ids are the message ids of a list, with its page token.
func (c *client) ids(query string) (ids []string, token string) {
	c.t.Helper()
	res := c.get("/open-apis/im/v1/messages?" + query)
	items, _ := res.Data["items"].([]any)
	for _, item := range items {
		ids = append(ids, item.(object)["message_id"].(string))
	}
	if res.Code != 0 || res.Data["has_more"] != (res.Data["page_token"] != nil) {
		c.t.Errorf("list %s: %s", query, res.text)
	}
	token, _ = res.Data["page_token"].(string)
	return ids, token
}

func TestHistory(t *testing.T) {
	p := New(t, Options{})
	app := p.App()
	c := newClient(t, p, app).signIn()
	chat, other := p.Direct(app.ID, app.Owner), p.Group(app.ID)
	began := p.Now().Truncate(time.Second)
	var said []string
	for i := range 5 {
		said = append(said, p.Say(chat, app.Owner, "hello", At(began.Add(time.Duration(i)*time.Second))))
		p.Say(other, app.Owner, "elsewhere")
	}
	in := "container_id_type=chat&container_id=" + chat
	at := func(i int) int64 { return began.Unix() + int64(i) }
	for query, want := range map[string][]string{
		in: said,
		in + fmt.Sprintf("&start_time=%d&end_time=%d", at(1), at(3)): said[1:4],
		in + fmt.Sprintf("&start_time=%d", at(5)):                    nil,
		in + "&sort_type=ByCreateTimeDesc&page_size=2":               {said[4], said[3]},
		in + "&page_size=2&page_token=page-4":                        said[4:],
	} {
		if got, _ := c.ids(query); !slices.Equal(got, want) {
			t.Errorf("list %s: %q, want %q", query, got, want)
		}
	}
	first, token := c.ids(in + "&page_size=3")
	rest, _ := c.ids(in + "&page_size=3&page_token=" + token)
	if got := append(first, rest...); !slices.Equal(got, said) {
		t.Errorf("in pages: %q", got)
	}
	p.Leave(other, app.ID)
	for query, want := range map[string]int{
		in + "&start_time=" + millis(began):              codeInvalid,
		in + "&page_size=51":                             codeInvalid,
		in + "&sort_type=x":                              codeInvalid,
		in + "&page_token=x":                             codeInvalid,
		"container_id=" + chat:                           codeInvalid,
		"container_id_type=chat&container_id=" + other:   codeNotInChat,
		"container_id_type=thread&end_time=1":            codeInvalid,
		"container_id_type=chat&container_id=oc_nothing": codeNotInChat,
	} {
		if res := c.get("/open-apis/im/v1/messages?" + query); res.Code != want {
			t.Errorf("list %s: %s", query, res.text)
		}
	}
}

func TestItemsOfHistory(t *testing.T) {
	p := New(t, Options{})
	app := p.App()
	c := newClient(t, p, app).signIn()
	group := p.Group(app.ID)
	at := time.UnixMilli(1700000000123)
	root := p.Say(group, app.Owner, "@Bot hello", Mention(app.BotID), At(at))
	item := func(id string, i int) object {
		items, _ := c.get("/open-apis/im/v1/messages/" + id).Data["items"].([]any)
		if i >= len(items) {
			t.Fatalf("%s has %d items", id, len(items))
		}
		return items[i].(object)
	}
	want := object{
		"message_id": root, "msg_type": "text", "body": object{"content": `{"text":"@_user_1 hello"}`},
		"create_time": "1700000000123", "update_time": "1700000000123", "deleted": false, "updated": false, "chat_id": group,
		"sender":   object{"id": app.Owner, "id_type": "open_id", "sender_type": "user", "tenant_key": tenant},
		"mentions": []any{object{"key": "@_user_1", "id": app.BotID, "id_type": "open_id", "name": "Bot", "tenant_key": tenant}},
	}
	if diff := cmp.Diff(want, item(root, 0)); diff != "" {
		t.Errorf("item (-want +got):\n%s", diff)
	}
	quote := p.Say(group, app.Owner, "see", Quote(root))
	second := p.Say(group, app.Owner, "and", Quote(quote))
	if m := item(second, 0); m["parent_id"] != quote || m["root_id"] != root {
		t.Errorf("a quote of a quote: %v", m)
	}
	bundle := p.Say(group, app.Owner, "", Forward(root, quote))
	if m := item(bundle, 2); m["upper_message_id"] != bundle || m["message_id"] == quote {
		t.Errorf("part of a bundle: %v", m)
	}
	p.Recall(quote)
	if m := item(quote, 0); m["deleted"] != true || strings.Contains(encode(m), "see") {
		t.Errorf("recalled: %v", m)
	}
	if res := c.get("/open-apis/im/v1/messages/om_x"); res.Code != codeInvalid {
		t.Errorf("nothing: %s", res.text)
	}
}

func TestThreads(t *testing.T) {
	p := New(t, Options{})
	app := p.App()
	c := newClient(t, p, app).signIn()
	l := c.dial()
	chat := p.Direct(app.ID, app.Owner)
	root := p.Say(chat, app.Owner, "hello")
	l.event()
	res := c.post("/open-apis/im/v1/messages/"+root+"/reply", object{"msg_type": "text", "content": `{"text":"below"}`, "reply_in_thread": true})
	thread, _ := res.Data["thread_id"].(string)
	said := p.Say(chat, app.Owner, "more", InThread(root))
	if e, _ := l.event(); e.Event.Message.ThreadID != thread || e.Event.Message.ParentID != root || thread == "" {
		t.Errorf("event %+v", e.Event.Message)
	}
	c.post("/open-apis/im/v1/messages/"+said+"/reply", object{"msg_type": "text", "content": `{"text":"below again"}`})
	sent := p.Sent()
	if len(sent) != 2 || sent[0].Thread != thread || !sent[0].InThread || sent[1].Thread != thread {
		t.Fatalf("sent %+v", sent)
	}
	if got, _ := c.ids("container_id_type=chat&container_id=" + chat); !slices.Equal(got, []string{root}) {
		t.Errorf("the chat lists %q", got)
	}
	want := []string{root, sent[0].MessageID, said, sent[1].MessageID}
	if got, _ := c.ids("container_id_type=thread&container_id=" + thread); !slices.Equal(got, want) {
		t.Errorf("the thread lists %q, want %q", got, want)
	}
}

func TestFiles(t *testing.T) {
	p := New(t, Options{})
	app := p.App()
	c := newClient(t, p, app).signIn()
	chat, group := p.Direct(app.ID, app.Owner), p.Group(app.ID)
	image := p.Say(chat, app.Owner, "", Image([]byte("\x89PNG\r\n\x1a\n")))
	file := p.Say(group, app.Owner, "", File("b.txt", []byte("letters")))
	inPost := p.Upload(true, "in a post", []byte("pixels"))
	post := p.Say(chat, app.Owner, "", Post("", []map[string]any{{"tag": "img", "image_key": inPost}}))
	key := func(id string) string {
		text := c.get("/open-apis/im/v1/messages/" + id).text
		return field(strings.ReplaceAll(text, `\"`, `"`), "image_key") + field(strings.ReplaceAll(text, `\"`, `"`), "file_key")
	}
	imageKey, fileKey := key(image), key(file)
	p.Leave(group, app.ID)
	for _, test := range []struct{ id, key, kind, want string }{
		{image, imageKey, "image", "\x89PNG\r\n\x1a\n"},
		{post, inPost, "image", "pixels"},
		{image, imageKey, "file", fmt.Sprint(codeFileNotHere)},
		{image, inPost, "image", fmt.Sprint(codeFileNotHere)},
		{image, imageKey, "", fmt.Sprint(codeFileInvalid)},
		{file, fileKey, "file", fmt.Sprint(codeFileNoAccess)},
	} {
		res := c.get("/open-apis/im/v1/messages/" + test.id + "/resources/" + test.key + "?type=" + test.kind)
		if !strings.Contains(res.text, test.want) {
			t.Errorf("%+v: %.200q", test, res.text)
		}
	}
	p.Inject(Fault{Route: Resource, Code: 234038})
	res := c.get("/open-apis/im/v1/messages/" + image + "/resources/" + imageKey + "?type=image")
	if res.status != 200 || !strings.HasPrefix(res.header.Get("Content-Type"), "application/json") || res.Code != 234038 {
		t.Errorf("a refusal with 200: %+v", res)
	}
	upload := func(name, size string) int {
		const form = "--b\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n"
		body := fmt.Sprintf(form, "image_type", "message") + fmt.Sprintf(form, name, size) + "--b--\r\n"
		return c.do("POST", "/open-apis/im/v1/images", "multipart/form-data; boundary=b", body).Code
	}
	if ok, empty, large := upload("image", "x"), upload("other", "x"), upload("image", strings.Repeat("x", maxImage+1)); ok != 0 ||
		empty != codeFileEmpty || large != codeFileTooLarge {
		t.Errorf("uploads: %d, %d, %d", ok, empty, large)
	}
}
