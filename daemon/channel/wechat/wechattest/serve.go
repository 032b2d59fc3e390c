package wechattest

import (
	"encoding/base64"
	"io"
	"maps"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// object is a JSON object.
type object = map[string]any

// Request is one request as it came.
type Request struct {
	Route  Route
	Bot    string // id, "" where no token is known
	Method string
	Host   string
	URL    string
	Header http.Header
	Body   string // its first 64 KiB
	At     time.Time
}

// call is a request on its way to a handler.
type call struct {
	*http.Request
	text  []byte
	bot   *Bot
	fault Fault
}

// answer is what a handler says: a JSON body, or bytes.
type answer struct {
	status int
	body   object
	bytes  []byte
	header http.Header
	cut    bool // no answer: the connection is closed
}

func ok(fields object) answer { return answer{body: fields} }

func refuse(ret int, msg string) answer { return answer{body: object{"ret": ret, "errmsg": msg}} }

// Codes of refusals.
const (
	expired = -14 // the session has ended
	invalid = -2
)

const (
	maxBody = 128 << 20
	maxKept = 64 << 10
)

// handler answers a request, with mu held.
type handler func(*call) answer

func (p *Platform) routes() http.Handler {
	mux := http.NewServeMux()
	open := func(route Route, pattern string, h handler) { mux.Handle(pattern, p.serve(route, p.locked(h))) }
	ask := func(route Route, path string, h handler) {
		mux.Handle("POST /ilink/bot/"+path, p.serve(route, p.locked(p.authorised(h))))
	}
	open(QRCode, "GET /ilink/bot/get_bot_qrcode", p.giveCode)
	open(QRCode, "POST /ilink/bot/get_bot_qrcode", p.giveCode)
	open(QRStatus, "GET /ilink/bot/get_qrcode_status", p.codeStatus)
	mux.Handle("POST /ilink/bot/getupdates", p.serve(Updates, p.poll))
	ask(Send, "sendmessage", p.send)
	ask(Config, "getconfig", p.giveConfig)
	ask(Type, "sendtyping", p.showTyping)
	ask(UploadURL, "getuploadurl", p.giveUploadURL)
	ask(Started, "msg/notifystart", func(c *call) answer { p.started[c.bot.ID]++; return ok(object{"ret": 0}) })
	ask(Stopped, "msg/notifystop", func(c *call) answer { p.started[c.bot.ID]--; return ok(object{"ret": 0}) })
	open(Upload, "POST /c2c/upload", p.upload)
	open(Download, "GET /c2c/download", p.download)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.change(func() { p.Complain("nothing answers %s %s", r.Method, r.URL.Path) })
		http.NotFound(w, r)
	})
	return mux
}

// locked makes of a handler one that takes mu.
func (p *Platform) locked(h handler) handler {
	return func(c *call) (a answer) {
		p.change(func() { a = h(c) })
		return a
	}
}

// serve is a route; h is called without mu.
func (p *Platform) serve(route Route, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil { // it is too large, or the client has hung up
			http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
			return
		}
		c := &call{Request: r, text: text}
		p.change(func() {
			c.bot = p.bot(r)
			p.record(route, c)
			c.fault = p.fault(route, c.bot)
		})
		if !p.wait(r, c.fault.Delay) {
			panic(http.ErrAbortHandler)
		}
		var a answer
		if !c.fault.answers() || c.fault.Late {
			a = h(c)
		}
		if c.fault.answers() {
			p.change(func() { p.burn(route, c) })
			a = c.fault.answer()
		}
		p.write(w, c, a)
	})
}

func (p *Platform) record(route Route, c *call) {
	r := Request{
		Route: route, Method: c.Method, Host: c.Host, URL: c.URL.String(), Header: c.Header.Clone(),
		Body: string(c.text[:min(len(c.text), maxKept)]), At: p.Now(),
	}
	if c.bot != nil {
		r.Bot = c.bot.ID
	}
	p.requests = append(p.requests, r)
}

// Requests are those of a route, in the order they came.
func (p *Platform) Requests(route Route) (all []Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		if r.Route == route {
			all = append(all, r)
		}
	}
	return all
}

// authorised lets a bot in by its token, and complains of what every client has to say.
func (p *Platform) authorised(h handler) handler {
	return func(c *call) answer {
		if c.bot = p.bot(c.Request); c.bot == nil { // it may have ended while the request waited
			return answer{body: object{"errcode": expired, "errmsg": "session timeout"}}
		}
		p.checkHead(c)
		return h(c)
	}
}

func (p *Platform) checkHead(c *call) {
	if kind, _, err := mime.ParseMediaType(c.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		p.Complain("%s: the body is of the type %q", c.URL.Path, c.Header.Get("Content-Type"))
	}
	if got := c.Header.Get("AuthorizationType"); got != "ilink_bot_token" {
		p.Complain("%s: AuthorizationType is %q", c.URL.Path, got)
	}
	uin := c.Header.Get("X-WECHAT-UIN")
	if raw, err := base64.StdEncoding.DecodeString(uin); err != nil || len(raw) == 0 {
		p.Complain("%s: X-WECHAT-UIN is %q, which is no base64", c.URL.Path, uin)
	}
	var said struct {
		Base struct {
			Version string `json:"channel_version"`
		} `json:"base_info"`
	}
	if err := json.Unmarshal(c.text, &said); err != nil || said.Base.Version == "" {
		p.Complain("%s: the body names no base_info.channel_version: %v", c.URL.Path, err)
	}
}

// write sends an answer as the fault wants it.
func (p *Platform) write(w http.ResponseWriter, c *call, a answer) {
	if a.cut {
		panic(http.ErrAbortHandler)
	}
	text, kind := a.bytes, "application/octet-stream"
	if a.body != nil {
		maps.Copy(a.body, c.fault.Set)
		maps.DeleteFunc(a.body, func(_ string, v any) bool { return v == nil })
		text, kind = []byte(encode(a.body)), "application/json"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Date", p.Now().UTC().Format(http.TimeFormat))
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	if !c.fault.Clip && !c.fault.Stall {
		_, _ = w.Write(text) // the client may have hung up
		return
	}
	_, _ = w.Write(text[:len(text)/2])
	_ = http.NewResponseController(w).Flush()
	if c.fault.Stall {
		select {
		case <-c.Context().Done():
		case <-p.Context().Done():
		}
	}
	panic(http.ErrAbortHandler)
}

// encode makes JSON of plain values.
func encode(v any) string {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(text)
}
