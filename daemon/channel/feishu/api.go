package feishu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"scv/daemon/channel"
)

// Bounds of one request.
const (
	requestTime = 20 * time.Second
	maxAnswer   = 4 << 20 // bytes
)

// client speaks HTTP with one platform. It follows no redirect: a secret must not go where an answer says.
type client struct {
	http     http.Client
	platform Platform
	limit    time.Duration // of one request
	ahead    *atomic.Int64 // how far the platform's clock is ahead of ours, in nanoseconds, by its latest answer
}

// sameClock is how far two clocks may be apart that count as one: answers tell whole seconds.
const sameClock = 2 * time.Second

// now is the time by the platform's clock, which its messages are dated by.
func (c *client) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *client) learnTime(date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	off := time.Until(at)
	if off.Abs() <= sameClock {
		off = 0
	}
	c.ahead.Store(int64(off))
}

// newClient makes a client by a copy of base, whose connections it shares.
func newClient(base *http.Client, platform Platform) client {
	return client{channel.WithoutRedirects(base), platform, requestTime, new(atomic.Int64)}
}

var errTooLarge = errors.New("the platform answered more than 4 MiB")

// unreachable is a request that got no answer. Its words hold no URL.
type unreachable struct{ err error }

func (u *unreachable) Error() string { return "cannot reach the platform: " + u.err.Error() }
func (u *unreachable) Unwrap() error { return u.err }

func noAnswer(err error) error { return &unreachable{channel.WithoutURL(err)} }

// do sends a request and reads its answer, status and all.
func (c *client) do(request *http.Request) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(request.Context(), c.limit)
	defer cancel()
	response, err := c.http.Do(request.WithContext(ctx))
	if err != nil {
		return 0, nil, noAnswer(err)
	}
	defer response.Body.Close()
	c.learnTime(response.Header.Get("Date"))
	body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return 0, nil, noAnswer(err)
	case len(body) > maxAnswer:
		return 0, nil, errTooLarge
	}
	return response.StatusCode, body, nil
}

// post makes a request with a JSON body.
func (c *client) post(ctx context.Context, path string, body any) (*http.Request, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("cannot write a request to %s: %w", path, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.platform.Open+path, bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("cannot make a request to %s: %w", path, err)
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	return request, nil
}

// ask sends a request and reads the answer into a value of its type; table says what its codes mean.
func ask[T any](c *client, request *http.Request, table map[int]meaning) (v T, err error) {
	status, body, err := c.do(request)
	if err != nil {
		return v, err
	}
	var head struct {
		Code *int `json:"code"`
	}
	coded, code := channel.ReadJSON(body, &head) == nil && head.Code != nil, 0
	if coded {
		code = *head.Code
	}
	if err := judge(table, status, code, coded); err != nil {
		return v, err
	}
	if err := channel.ReadJSON(body, &v); err != nil {
		return v, &answer{status: status, meaning: meaning{says: "something that cannot be read"}}
	}
	return v, nil
}
