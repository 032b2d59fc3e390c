package feishutest

import (
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// object is a JSON object.
type object = map[string]any

// Request is one request as it came.
type Request struct {
	Route  Route
	App    string // app id, "" where none is named
	Method string
	URL    string
	Header http.Header
	Body   string // its first 64 KiB
	Brand  string // whose host was asked, "" for loopback
	At     time.Time
}

// call is a request on its way to a handler.
type call struct {
	*http.Request
	text  []byte
	brand string
	app   *App
}

// answer is what a handler says: a JSON body, or bytes of a type.
type answer struct {
	status      int
	body        object
	bytes       []byte
	contentType string
	header      http.Header
	cut         bool // no answer: the connection is closed
}

func ok(data object) answer {
	return answer{body: object{"code": 0, "msg": "success", "data": data}}
}

func refuse(status, code int, msg string) answer {
	return answer{status: status, body: object{"code": code, "msg": msg, "error": object{"log_id": "2026"}}}
}

const (
	maxBody = 40 << 20
	maxKept = 64 << 10
)

type handler func(*call) answer

func (p *Platform) routes() http.Handler {
	mux := http.NewServeMux()
	open := func(route Route, pattern string, h handler) { mux.Handle(pattern, p.serve(route, false, h)) }
	authorised := func(route Route, pattern string, h handler) { mux.Handle(pattern, p.serve(route, true, h)) }
	const im = " /open-apis/im/v1/"
	open(Registration, "POST /oauth/v1/app/registration", p.registration)
	open(Token, "POST /open-apis/auth/v3/tenant_access_token/internal", p.giveToken)
	open(Endpoint, "POST /callback/ws/endpoint", p.endpoint)
	authorised(BotInfo, "GET /open-apis/bot/v3/info", p.botInfo)
	authorised(Send, "POST"+im+"messages", p.send)
	authorised(Reply, "POST"+im+"messages/{id}/reply", p.reply)
	authorised(Get, "GET"+im+"messages/{id}", p.get)
	authorised(List, "GET"+im+"messages", p.list)
	authorised(Update, "PATCH"+im+"messages/{id}", p.update)
	authorised(React, "POST"+im+"messages/{id}/reactions", p.react)
	authorised(React, "DELETE"+im+"messages/{id}/reactions/{reaction}", p.unreact)
	authorised(Resource, "GET"+im+"messages/{id}/resources/{key}", p.resource)
	authorised(UploadImage, "POST"+im+"images", p.uploadImage)
	authorised(UploadFile, "POST"+im+"files", p.uploadFile)
	mux.HandleFunc("GET /ws/v2", p.shakeHands)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.change(func() { p.Complain("nothing answers %s %s", r.Method, r.URL.Path) })
		http.NotFound(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for brand := range domains {
			if rest, ok := strings.CutPrefix(r.URL.Path, "/"+brand+"/"); ok {
				r.URL.Path = "/" + rest
				r.Header.Set(prefixed, brand)
			}
		}
		mux.ServeHTTP(w, r)
	})
}

// prefixed is the header in which the brand of a path's prefix is kept.
const prefixed = "X-Fake-Brand"

func brandAsked(r *http.Request) string {
	if brand := r.Header.Get(prefixed); brand != "" {
		return brand
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	return brandOf(host)
}

func (p *Platform) serve(route Route, authorised bool, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil { // it is too large, or the client has hung up
			http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
			return
		}
		c := &call{Request: r, text: text, brand: brandAsked(r)}
		var fault Fault
		var a answer
		p.change(func() {
			id := p.record(route, c)
			fault = p.fault(route, id)
		})
		if !p.wait(fault.Delay) {
			panic(http.ErrAbortHandler) // no answer at all: the platform has ended
		}
		if !fault.answers() || fault.Late {
			p.change(func() { a = p.authorise(authorised, c, h) })
		}
		if fault.answers() {
			a = fault.answer()
		} else if fault.SocketURL != "" {
			a = elsewhere(a, fault.SocketURL)
		}
		if a.cut {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Date", p.Now().UTC().Format(http.TimeFormat))
		a.write(w)
	})
}

// record notes a request and finds out whose it is.
func (p *Platform) record(route Route, c *call) (appID string) {
	if t, ok := p.tokens[bearer(c.Request)]; ok {
		appID = t.app
	}
	var named struct {
		ID    string `json:"app_id"`
		AppID string `json:"AppID"`
	}
	if appID == "" && json.Unmarshal(c.text, &named) == nil {
		appID = named.ID + named.AppID
	}
	p.requests = append(p.requests, Request{
		Route: route, App: appID, Method: c.Method, URL: c.URL.String(), Header: c.Header.Clone(),
		Body: string(c.text[:min(len(c.text), maxKept)]), Brand: c.brand, At: p.Now(),
	})
	return appID
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

func bearer(r *http.Request) string {
	text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return text
}

func (p *Platform) authorise(needed bool, c *call, h handler) answer {
	if !needed {
		return h(c)
	}
	text := bearer(c.Request)
	t, found := p.tokens[text]
	if text == "" {
		return refuse(http.StatusBadRequest, codeNoToken, "Missing access token for authorization.")
	}
	if c.app = p.app(t.app); !found || c.app == nil || !p.Now().Before(t.ends) || c.brand != "" && c.brand != c.app.Brand {
		return refuse(http.StatusBadRequest, codeBadToken, "Invalid access token for authorization.")
	}
	return h(c)
}

// json reads the body into v.
func (c *call) json(v any) error {
	kind, _, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return fmt.Errorf("the body is of the type %q", c.Header.Get("Content-Type"))
	}
	return json.Unmarshal(c.text, v)
}

func (f *Fault) answer() answer {
	a := answer{status: f.Status, header: f.Header, contentType: f.ContentType, cut: f.Cut}
	if f.Body != "" {
		a.bytes = []byte(f.Body)
		return a
	}
	a.body = object{"code": f.Code, "msg": f.Msg}
	if f.Code == 0 && f.Status >= http.StatusInternalServerError { // a gateway's own page
		a.body, a.bytes = nil, []byte(http.StatusText(f.Status))
	}
	return a
}

func (a answer) write(w http.ResponseWriter) {
	text, kind := a.bytes, a.contentType
	if a.body != nil {
		encoded, err := json.Marshal(a.body, json.Deterministic(true))
		if err != nil {
			panic(err) // it is made of plain values
		}
		text, kind = encoded, "application/json; charset=utf-8"
	}
	for key, values := range a.header {
		w.Header()[key] = values
	}
	if kind != "" {
		w.Header().Set("Content-Type", kind)
	}
	w.Header().Set("X-Tt-Logid", "2026")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	_, _ = w.Write(text) // the client may have hung up
}
