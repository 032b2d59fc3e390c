package feishu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// A tenant token is renewed that long before its end, and kept at least for the least.
const (
	renewBefore = 600 * time.Second
	leastToken  = 60 * time.Second
)

// api is the part of the platform that wants a token.
type api struct {
	client
	credentials Credentials

	holder chan struct{} // holds one element while nobody has the fields below
	token  string
	until  time.Time
}

func newAPI(base *http.Client, platform Platform, c Credentials) *api {
	a := &api{client: newClient(base, platform), credentials: c, holder: make(chan struct{}, 1)}
	a.holder <- struct{}{}
	return a
}

type tokenAnswer struct {
	Token  string `json:"tenant_access_token"`
	Expire int64  `json:"expire"` // seconds
}

// bearer is a token that is good for now. Whoever comes while one is fetched waits for that one.
func (a *api) bearer(ctx context.Context) (string, error) {
	select {
	case <-a.holder:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { a.holder <- struct{}{} }()
	if a.token != "" && time.Now().Before(a.until) {
		return a.token, nil
	}
	request, err := a.post(ctx, "/open-apis/auth/v3/tenant_access_token/internal",
		map[string]string{"app_id": a.credentials.AppID, "app_secret": a.credentials.AppSecret})
	if err != nil {
		return "", err
	}
	got, err := ask[tokenAnswer](&a.client, request, codes)
	if refusal, ok := errors.AsType[*answer](err); ok && refusal.fate == refused {
		refusal.fate = again // what waits to be sent can go once the token is granted
	}
	if err == nil && got.Token == "" {
		err = &answer{status: http.StatusOK, meaning: meaning{says: "no token"}}
	}
	if err != nil {
		return "", err
	}
	a.token = got.Token
	a.until = time.Now().Add(max(time.Duration(got.Expire)*time.Second-renewBefore, leastToken))
	return a.token, nil
}

// drop forgets a token that the platform did not take, unless a newer one has come meanwhile.
func (a *api) drop(token string) {
	<-a.holder
	if a.token == token {
		a.token = ""
	}
	a.holder <- struct{}{}
}

// ErrSecret says that the platform does not know the app by that secret.
var ErrSecret = errors.New("the platform does not take this app id with this secret")

// CheckSecret fetches a token: credentials with which that works are good.
func CheckSecret(ctx context.Context, base *http.Client, platform Platform, c Credentials) error {
	_, err := newAPI(base, platform, c).bearer(ctx)
	if refusal, ok := errors.AsType[*answer](err); ok && refusal.fate == owner {
		return fmt.Errorf("%w (code %d)", ErrSecret, refusal.code)
	}
	return err
}

// call makes one call with a token and reads its answer.
func call[T any](ctx context.Context, a *api, make func() (*http.Request, error)) (v T, err error) {
	err = a.withToken(ctx, make, func(request *http.Request) error {
		v, err = ask[T](&a.client, request, codes)
		return err
	})
	return v, err
}

// withToken makes a request and sends it with a token. One that is no good any more is fetched afresh, once.
func (a *api) withToken(ctx context.Context, make func() (*http.Request, error), send func(*http.Request) error) error {
	for try := 0; ; try++ {
		token, err := a.bearer(ctx)
		if err != nil {
			return err
		}
		request, err := make()
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+token)
		err = send(request)
		refusal, refused := errors.AsType[*answer](err)
		if !refused || !refusal.token {
			return err
		}
		a.drop(token)
		if try > 0 {
			return err
		}
	}
}

// get calls by GET.
func get[T any](ctx context.Context, a *api, path string, query url.Values) (T, error) {
	return call[T](ctx, a, func() (*http.Request, error) {
		at := a.platform.Open + path
		if len(query) > 0 {
			at += "?" + query.Encode()
		}
		return http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	})
}

// post calls by POST with a JSON body.
func post[T any](ctx context.Context, a *api, path string, body any) (T, error) {
	return call[T](ctx, a, func() (*http.Request, error) { return a.post(ctx, path, body) })
}
