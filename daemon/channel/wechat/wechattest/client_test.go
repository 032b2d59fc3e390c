package wechattest

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = time.Minute // of every wait

// client is a bare client of one bot.
type client struct {
	t    *testing.T
	p    *Platform
	bot  Bot
	http *http.Client
	ctx  context.Context
	base string
}

func newClient(t *testing.T, p *Platform, bot Bot) *client {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return &client{t: t, p: p, bot: bot, http: p.Client(), ctx: ctx, base: "https://ilinkai.weixin.qq.com"}
}

// response is what the platform answers.
type response struct {
	status int
	header http.Header
	text   string
	Ret    *int             `json:"ret"`
	Code   int              `json:"errcode"`
	ID     jsontext.Value   `json:"message_id"`
	Msgs   []map[string]any `json:"msgs"`
	Cursor *string          `json:"get_updates_buf"`
	fields map[string]any
}

func (r *response) field(name string) string {
	text, _ := r.fields[name].(string)
	return text
}

// texts are those of a poll's messages.
func (r *response) texts() (texts []string) {
	for _, m := range r.Msgs {
		for _, it := range m["item_list"].([]any) {
			if text, is := it.(object)["text_item"].(object); is {
				texts = append(texts, text["text"].(string))
			}
		}
	}
	return texts
}

// try asks at an absolute URL, or a path of the base.
func (c *client) try(method, path, kind string, body []byte) (*response, error) {
	if path[0] == '/' {
		path = c.base + path
	}
	r, err := http.NewRequestWithContext(c.ctx, method, path, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	r.Header.Set("AuthorizationType", "ilink_bot_token")
	r.Header.Set("Authorization", "Bearer "+c.bot.Token)
	r.Header.Set("X-WECHAT-UIN", base64.StdEncoding.EncodeToString([]byte("1234")))
	got, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		return nil, err
	}
	res := &response{status: got.StatusCode, header: got.Header, text: string(text)}
	_ = json.Unmarshal(text, res) // a fault's answer may be no JSON
	_ = json.Unmarshal(text, &res.fields)
	return res, nil
}

func (c *client) do(method, path, kind string, body []byte) *response {
	c.t.Helper()
	res, err := c.try(method, path, kind, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return res
}

func (c *client) get(path string) *response { c.t.Helper(); return c.do("GET", path, "", nil) }

func (c *client) asking(body object) []byte {
	body["base_info"] = object{"channel_version": "1.0.0"}
	return []byte(encode(body))
}

func (c *client) post(what string, body object) *response {
	c.t.Helper()
	return c.do("POST", "/ilink/bot/"+what, "application/json", c.asking(body))
}

func (c *client) poll(cursor string) *response {
	c.t.Helper()
	return c.post("getupdates", object{"get_updates_buf": cursor})
}

// text is a message as a bot sends it.
func (c *client) text(to, clientID, token, text string) object {
	return c.item(to, clientID, token, object{"type": 1, "text_item": object{"text": text}})
}

func (c *client) item(to, clientID, token string, it object) object {
	m := object{
		"from_user_id": "", "to_user_id": to, "client_id": clientID, "message_type": 2, "message_state": 2,
		"item_list": []object{it},
	}
	if token != "" {
		m["context_token"] = token
	}
	return object{"msg": m}
}

func (c *client) send(to, clientID, token, text string) *response {
	c.t.Helper()
	return c.post("sendmessage", c.text(to, clientID, token, text))
}

// await waits for the platform.
func (c *client) await(what string, cond func() bool) {
	c.t.Helper()
	if err := c.p.Await(c.ctx, cond); err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
}

// token is a message's.
func token(m map[string]any) string { return m["context_token"].(string) }
