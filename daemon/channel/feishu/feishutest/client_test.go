package feishutest

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = time.Minute // of every wait

// client is a bare client of one app.
type client struct {
	t     *testing.T
	p     *Platform
	app   App
	http  *http.Client
	ctx   context.Context
	token string
}

func newClient(t *testing.T, p *Platform, app App) *client {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return &client{t: t, p: p, app: app, http: p.Client(), ctx: ctx}
}

// response is what the platform answers.
type response struct {
	status int
	header http.Header
	text   string
	Code   int            `json:"code"`
	Data   map[string]any `json:"data"`
	Token  string         `json:"tenant_access_token"`
	Bot    map[string]any `json:"bot"`
	Error  any            `json:"error"`
}

func (c *client) open() string { return "https://open." + domains[c.app.Brand] }

// try asks at an absolute URL or a path of the app's brand.
func (c *client) try(method, path, kind, body string) (*response, error) {
	if strings.HasPrefix(path, "/") {
		path = c.open() + path
	}
	r, err := http.NewRequestWithContext(c.ctx, method, path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	res := &response{status: answer.StatusCode, header: answer.Header, text: string(text)}
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		err = json.Unmarshal(text, res)
	}
	return res, err
}

func (c *client) do(method, path, kind, body string) *response {
	c.t.Helper()
	res, err := c.try(method, path, kind, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return res
}

func (c *client) get(path string) *response { c.t.Helper(); return c.do("GET", path, "", "") }

func (c *client) post(path string, body any) *response {
	c.t.Helper()
	return c.do("POST", path, "application/json; charset=utf-8", encode(body))
}

func (c *client) form(path string, fields url.Values) *response {
	c.t.Helper()
	return c.do("POST", path, "application/x-www-form-urlencoded", fields.Encode())
}

func (c *client) signIn() *client {
	c.t.Helper()
	res := c.post("/open-apis/auth/v3/tenant_access_token/internal", object{"app_id": c.app.ID, "app_secret": c.app.Secret})
	if res.Code != 0 || res.Token == "" {
		c.t.Fatalf("token: %+v", res)
	}
	c.token = res.Token
	return c
}

// send sends a text to the owner and returns the answer.
func (c *client) send(uuid, text string) *response {
	c.t.Helper()
	return c.post("/open-apis/im/v1/messages?receive_id_type=open_id", object{
		"receive_id": c.app.Owner, "msg_type": "text", "content": encode(object{"text": text}), "uuid": uuid,
	})
}

func (c *client) endpoint() *response {
	c.t.Helper()
	return c.post("/callback/ws/endpoint", object{"AppID": c.app.ID, "AppSecret": c.app.Secret})
}

// line is a long connection.
type line struct {
	*client
	conn *websocket.Conn
}

func (c *client) dial() *line {
	c.t.Helper()
	to, _ := c.endpoint().Data["URL"].(string)
	conn, res, err := websocket.Dial(c.ctx, to, &websocket.DialOptions{HTTPClient: c.http})
	if err != nil {
		c.t.Fatalf("dial %s: %v, %+v", to, err, res)
	}
	c.t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(8 << 20)
	return &line{c, conn}
}

func (l *line) read() *frame {
	l.t.Helper()
	_, text, err := l.conn.Read(l.ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	f, err := decode(text)
	if err != nil {
		l.t.Fatal(err)
	}
	return f
}

func (l *line) write(f *frame) {
	l.t.Helper()
	if err := l.conn.Write(l.ctx, websocket.MessageBinary, f.encode()); err != nil {
		l.t.Fatal(err)
	}
}

func (l *line) ping() {
	l.t.Helper()
	l.write(&frame{Service: serviceID, Headers: []header{{"type", "ping"}}})
}

func (l *line) ack(f *frame, code string) {
	l.t.Helper()
	f.Headers = append(f.Headers, header{"biz_rt", "1"})
	f.Payload = []byte(`{"code":` + code + `,"headers":null,"data":null}`)
	l.write(f)
}

// event is what a test reads of an event.
type event struct {
	Header struct {
		EventID   string `json:"event_id"`
		EventType string `json:"event_type"`
	} `json:"header"`
	Event struct {
		Sender struct {
			SenderID struct {
				OpenID string `json:"open_id"`
			} `json:"sender_id"`
		} `json:"sender"`
		Message struct {
			MessageID string `json:"message_id"`
			ChatType  string `json:"chat_type"`
			Content   string `json:"content"`
			ParentID  string `json:"parent_id"`
			ThreadID  string `json:"thread_id"`
			Mentions  []struct {
				Key string `json:"key"`
				ID  struct {
					OpenID string `json:"open_id"`
				} `json:"id"`
			} `json:"mentions"`
		} `json:"message"`
	} `json:"event"`
}

// event reads one event, whole or in parts, and its last frame.
func (l *line) event() (e event, last *frame) {
	l.t.Helper()
	parts := map[int][]byte{}
	for sum := 1; len(parts) < sum; {
		last = l.read()
		sum = l.number(last, "sum")
		parts[l.number(last, "seq")] = last.Payload
	}
	var whole []byte
	for i := range len(parts) {
		whole = append(whole, parts[i]...)
	}
	if err := json.Unmarshal(whole, &e); err != nil {
		l.t.Fatal(err)
	}
	return e, last
}

func (l *line) number(f *frame, key string) int {
	l.t.Helper()
	n, err := strconv.Atoi(f.header(key))
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// await waits for the platform.
func (c *client) await(what string, cond func() bool) {
	c.t.Helper()
	if err := c.p.Await(c.ctx, cond); err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
}

// expiring is a context for what must not happen.
func expiring(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}
