//go:build platforms

package feishutest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"testing"

	lark "github.com/larksuite/oapi-sdk-go/v3"
	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

// sdkClient is the SDK's API client, which believes that it asks open.feishu.cn.
type sdkClient struct {
	t   *testing.T
	p   *Platform
	app App
	ctx context.Context
	im  *larkim.V1
}

func newSDKClient(t *testing.T, p *Platform) *sdkClient {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	app := p.App()
	c := lark.NewClient(app.ID, app.Secret, lark.WithHttpClient(p.Client()), lark.WithLogLevel(larkcore.LogLevelError+1))
	return &sdkClient{t, p, app, ctx, c.Im.V1}
}

func (c *sdkClient) trySend(uuid, text string) *larkim.CreateMessageResp {
	c.t.Helper()
	body := larkim.NewCreateMessageReqBodyBuilder().ReceiveId(c.app.Owner).MsgType("text").
		Content(encode(object{"text": text})).Uuid(uuid).Build()
	res, err := c.im.Message.Create(c.ctx, larkim.NewCreateMessageReqBuilder().ReceiveIdType("open_id").Body(body).Build())
	if err != nil {
		c.t.Fatal(err)
	}
	return res
}

func (c *sdkClient) sendText(text string) *larkim.CreateMessageRespData {
	c.t.Helper()
	res := c.trySend("", text)
	if !res.Success() {
		c.t.Fatalf("send: %+v", res.CodeError)
	}
	return res.Data
}

func (c *sdkClient) reply(to, kind, content, uuid string, inThread bool) *larkim.ReplyMessageResp {
	c.t.Helper()
	body := larkim.NewReplyMessageReqBodyBuilder().MsgType(kind).Content(content).Uuid(uuid).ReplyInThread(inThread).Build()
	res, err := c.im.Message.Reply(c.ctx, larkim.NewReplyMessageReqBuilder().MessageId(to).Body(body).Build())
	if err != nil {
		c.t.Fatal(err)
	}
	return res
}

func TestSDKSendsAndReplies(t *testing.T) {
	p := New(t, Options{Apps: []App{{ID: "cli_sends"}}})
	c := newSDKClient(t, p)
	said := p.Say(p.Direct(c.app.ID, c.app.Owner), c.app.Owner, "hello")
	first, again := c.trySend("u-1", "hi"), c.trySend("u-1", "hi")
	if *first.Data.MessageId != *again.Data.MessageId || *first.Data.Body.Content != `{"text":"hi"}` || *first.Data.Sender.SenderType != "app" {
		t.Errorf("sent %s, %s", larkcore.Prettify(first.Data), larkcore.Prettify(again.Data))
	}
	res := c.reply(said, "text", `{"text":"well"}`, "u-2", false)
	if !res.Success() || *res.Data.ParentId != said || *res.Data.RootId != said {
		t.Errorf("reply %s", larkcore.Prettify(res))
	}
	threaded := c.reply(said, "text", `{"text":"below"}`, "u-3", true)
	if !threaded.Success() || *threaded.Data.ThreadId == "" {
		t.Errorf("reply %s", larkcore.Prettify(threaded))
	}
	var got []string
	for _, s := range p.Sent() {
		got = append(got, fmt.Sprintf("%s %s %v %d", s.Text, s.ReplyTo, s.InThread, s.Repeats))
	}
	want := []string{"hi  false 1", "well " + said + " false 0", "below " + said + " true 0"}
	if !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	if res := c.reply("om_none", "text", `{"text":"x"}`, "", false); res.Code != codeInvalid {
		t.Errorf("reply to nothing: %+v", res.CodeError)
	}
	p.Leave(p.Direct(c.app.ID, c.app.Owner), c.app.ID)
}

func TestSDKReadsHistory(t *testing.T) {
	p := New(t, Options{Apps: []App{{ID: "cli_reads"}}})
	c := newSDKClient(t, p)
	chat := p.Direct(c.app.ID, c.app.Owner)
	var want []string
	for i := range 7 {
		want = append(want, p.Say(chat, c.app.Owner, fmt.Sprint("message ", i)))
	}
	bundle := p.Say(chat, c.app.Owner, "", Forward(want[:2]...))
	want = append(want, bundle)
	now := p.Now().Unix()
	pages, err := c.im.Message.ListByIterator(c.ctx, larkim.NewListMessageReqBuilder().ContainerIdType("chat").ContainerId(chat).
		StartTime(fmt.Sprint(now-60)).EndTime(fmt.Sprint(now+1)).SortType("ByCreateTimeAsc").PageSize(3).Build())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		more, m, err := pages.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		if *m.Sender.Id != c.app.Owner || *m.Sender.IdType != "open_id" || *m.Body.Content == "" || *m.Deleted {
			t.Errorf("item %s", larkcore.Prettify(m))
		}
		got = append(got, *m.MessageId)
	}
	if !slices.Equal(got, want) {
		t.Errorf("history %q, want %q", got, want)
	}
	if n := len(p.Requests(List)); n != 3 {
		t.Errorf("%d pages", n)
	}
	parts, err := c.im.Message.Get(c.ctx, larkim.NewGetMessageReqBuilder().MessageId(bundle).Build())
	if err != nil || len(parts.Data.Items) != 3 || *parts.Data.Items[1].UpperMessageId != bundle {
		t.Errorf("bundle %s, %v", larkcore.Prettify(parts), err)
	}
}

func TestSDKMovesFiles(t *testing.T) {
	p := New(t, Options{Apps: []App{{ID: "cli_files"}}})
	c := newSDKClient(t, p)
	chat := p.Direct(c.app.ID, c.app.Owner)
	image, err := c.im.Image.Create(c.ctx, larkim.NewCreateImageReqBuilder().Body(
		larkim.NewCreateImageReqBodyBuilder().ImageType("message").Image(bytes.NewReader([]byte("pixels"))).Build()).Build())
	if err != nil || !image.Success() || string(p.Blob(*image.Data.ImageKey)) != "pixels" {
		t.Fatalf("image %s, %v", larkcore.Prettify(image), err)
	}
	file, err := c.im.File.Create(c.ctx, larkim.NewCreateFileReqBuilder().Body(
		larkim.NewCreateFileReqBodyBuilder().FileType("stream").FileName("a.txt").File(bytes.NewReader([]byte("letters"))).Build()).Build())
	if err != nil || !file.Success() || string(p.Blob(*file.Data.FileKey)) != "letters" {
		t.Fatalf("file %s, %v", larkcore.Prettify(file), err)
	}
	said := p.Say(chat, c.app.Owner, "", File("b.txt", []byte("theirs")))
	if res := c.reply(said, "file", encode(object{"file_key": *file.Data.FileKey}), "", false); !res.Success() {
		t.Errorf("reply: %+v", res.CodeError)
	}
	get := func() *larkim.GetMessageResourceResp {
		key := field(p.message(said).content, "file_key")
		res, err := c.im.MessageResource.Get(c.ctx, larkim.NewGetMessageResourceReqBuilder().MessageId(said).FileKey(key).Type("file").Build())
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := get()
	text, err := io.ReadAll(res.File)
	if err != nil || string(text) != "theirs" || res.FileName != "b.txt" {
		t.Errorf("file %q %q, %v", res.FileName, text, err)
	}
	p.Inject(Fault{Route: Resource, Status: 400, Code: 234002})
	if res := get(); res.Success() || res.Code != 234002 {
		t.Errorf("refused: %+v", res.CodeError)
	}
}

func TestSDKReactsAndUpdatesCards(t *testing.T) {
	p := New(t, Options{Apps: []App{{ID: "cli_cards"}}})
	c := newSDKClient(t, p)
	said := p.Say(p.Direct(c.app.ID, c.app.Owner), c.app.Owner, "hello")
	made, err := c.im.MessageReaction.Create(c.ctx, larkim.NewCreateMessageReactionReqBuilder().MessageId(said).Body(
		larkim.NewCreateMessageReactionReqBodyBuilder().ReactionType(larkim.NewEmojiBuilder().EmojiType("OnIt").Build()).Build()).Build())
	if err != nil || !made.Success() {
		t.Fatalf("reaction %s, %v", larkcore.Prettify(made), err)
	}
	gone, err := c.im.MessageReaction.Delete(c.ctx, larkim.NewDeleteMessageReactionReqBuilder().MessageId(said).ReactionId(*made.Data.ReactionId).Build())
	if err != nil || !gone.Success() {
		t.Errorf("reaction %s, %v", larkcore.Prettify(gone), err)
	}
	if r := p.Reactions(); len(r) != 1 || r[0].Emoji != "OnIt" || !r[0].Removed {
		t.Errorf("reactions %+v", r)
	}
	card := c.reply(said, "interactive", `{"elements":[]}`, "", false)
	changed, err := c.im.Message.Patch(c.ctx, larkim.NewPatchMessageReqBuilder().MessageId(*card.Data.MessageId).Body(
		larkim.NewPatchMessageReqBodyBuilder().Content(`{"elements":["done"]}`).Build()).Build())
	if err != nil || !changed.Success() {
		t.Errorf("card %s, %v", larkcore.Prettify(changed), err)
	}
	if s := p.Sent(); len(s) != 1 || s[0].Updates != 1 || s[0].Content != `{"elements":["done"]}` {
		t.Errorf("sent %+v", s)
	}
}

func TestSDKFramesAreOurs(t *testing.T) {
	for _, f := range []*frame{
		{},
		{Service: serviceID, Headers: []header{{"type", "ping"}, {"", ""}}},
		{SeqID: 1 << 63, LogID: 2, Service: -1, Method: data, PayloadEncoding: "e", PayloadType: "t", Payload: []byte("p"), LogIDNew: "n"},
	} {
		theirs := larkws.Frame{
			SeqID: f.SeqID, LogID: f.LogID, Service: f.Service, Method: f.Method, Payload: f.Payload,
			PayloadEncoding: f.PayloadEncoding, PayloadType: f.PayloadType, LogIDNew: f.LogIDNew,
		}
		for _, h := range f.Headers {
			theirs.Headers = append(theirs.Headers, larkws.Header{Key: h.Key, Value: h.Value})
		}
		text, err := theirs.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decode(text); err != nil || !bytes.Equal(got.encode(), f.encode()) {
			t.Errorf("theirs is %+v, %v; ours is %+v", got, err, f)
		}
		var back larkws.Frame
		if err := back.Unmarshal(f.encode()); err != nil || back.SeqID != f.SeqID || back.Service != f.Service || len(back.Headers) != len(f.Headers) {
			t.Errorf("they read %+v, %v; ours is %+v", back, err, f)
		}
	}
}
