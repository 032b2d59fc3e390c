package wechat

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"scv/daemon/channel"
)

// Bounds of one request.
const (
	requestTime = 20 * time.Second
	fileTime    = 120 * time.Second // to or from the CDN
	maxAnswer   = 4 << 20           // bytes
)

// api is the platform as one bot asks it. It follows no redirect: the token must not go where an answer says.
type api struct {
	http     http.Client
	platform Platform
	origin   string
	token    string
	behind   atomic.Bool // our clock was seen to be behind the platform's, by however little
}

func newAPI(base *http.Client, platform Platform, c Credentials) *api {
	return &api{http: channel.WithoutRedirects(base), platform: platform, origin: platform.api(c.BaseURL), token: c.Token}
}

// baseInfo stands in every body.
type baseInfo struct {
	Version string `json:"channel_version"`
}

var thisClient = baseInfo{"1.0.0"}

// unreachable is a request that got no answer. Its words hold no URL.
type unreachable struct {
	err  error
	idle bool // our own time ran out before a word came
}

func (u *unreachable) Error() string { return "cannot reach the platform: " + u.err.Error() }
func (u *unreachable) Unwrap() error { return u.err }

var errAnswerTooLarge = errors.New("the platform answered more than 4 MiB")

// said is an answer of the platform, whatever it says.
type said struct {
	status int
	text   []byte
	at     time.Time // by the platform's clock where ours is wrong, else zero
}

// post calls the API, and gives its answer whatever that says.
func (a *api) post(ctx context.Context, limit time.Duration, what string, body any) (said, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return said{}, fmt.Errorf("%w: %s takes valid UTF-8 only", errUnsayable, what)
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(timed, http.MethodPost, a.origin+"/ilink/bot/"+what, bytes.NewReader(raw))
	if err != nil {
		return said{}, errors.New("the account's base_url cannot be used")
	}
	a.sign(request)
	response, err := a.http.Do(request)
	if err != nil {
		return said{}, &unreachable{channel.WithoutURL(err), timed.Err() != nil && ctx.Err() == nil}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return said{}, &unreachable{err: channel.WithoutURL(err)}
	case len(text) > maxAnswer:
		return said{}, errAnswerTooLarge
	}
	return said{response.StatusCode, text, a.dated(response.Header.Get("Date"), time.Now())}, nil
}

// dated reads the time of an answer, which is told in whole seconds. Where our own clock agrees with it, that is
// the finer one, and nothing is told. Where it does not, or was once found to be behind, the answer's time is the
// end of its second: what somebody wrote before we said a thing must never seem to be an answer to it.
func (a *api) dated(date string, now time.Time) time.Time {
	at, err := http.ParseTime(date)
	if err != nil {
		return time.Time{}
	}
	off := now.Sub(at)
	if off < 0 {
		a.behind.Store(true)
	}
	if !a.behind.Load() && off < 2*time.Second {
		return time.Time{}
	}
	return at.Add(time.Second)
}

// errUnsayable is a request that cannot be written down.
var errUnsayable = errors.New("what is to be said is no text")

func (a *api) sign(request *http.Request) {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	random := strconv.FormatUint(uint64(binary.NativeEndian.Uint32(b[:])), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("AuthorizationType", "ilink_bot_token")
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("X-WECHAT-UIN", base64.StdEncoding.EncodeToString([]byte(random)))
}

// ask calls the API and reads a success into a value of its type. Any 2xx that does not say no is one, also
// where it says nothing at all.
func ask[T any](ctx context.Context, a *api, what string, body any) (v T, err error) {
	v, _, err = askDated[T](ctx, a, what, body)
	return v, err
}

// askDated is ask with the time of the answer.
func askDated[T any](ctx context.Context, a *api, what string, body any) (v T, at time.Time, err error) {
	got, err := a.post(ctx, requestTime, what, body)
	if err != nil {
		return v, at, err
	}
	if err := judge(got.status, got.text); err != nil {
		return v, at, err
	}
	if channel.ReadJSON(got.text, &v) != nil {
		var nothing T
		return nothing, got.at, nil
	}
	return v, got.at, nil
}
