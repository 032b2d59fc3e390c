package wechat

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"scv/daemon/channel"
)

// Fetch gets a file that came with a message.
func (a *Adapter) Fetch(ctx context.Context, file channel.File, w io.Writer, limit int64) error {
	ctx, cancel := context.WithTimeout(ctx, fileTime)
	defer cancel()
	at, key, err := a.find(file.Ref)
	if err != nil {
		return fmt.Errorf("%w: %w", channel.ErrRefused, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("%w: %w", channel.ErrRefused, errForeign)
	}
	response, err := a.api.http.Do(request)
	if err != nil {
		return &unreachable{err: channel.WithoutURL(err)}
	}
	defer response.Body.Close()
	if err := judgeFile(response.StatusCode); err != nil {
		return err
	}
	if key == nil {
		err = channel.CopyAtMost(w, response.Body, limit)
	} else {
		err = unseal(w, response.Body, key, limit)
	}
	if errors.Is(err, errPadding) || errors.Is(err, errKey) {
		return fmt.Errorf("%w: %w", channel.ErrRefused, err)
	}
	return err
}

// find reads where a file is and its key, nil for none.
func (a *Adapter) find(ref string) (at *url.URL, key []byte, err error) {
	var p place
	if channel.ReadJSON([]byte(ref), &p) != nil {
		return nil, nil, errors.New("nothing says where it is")
	}
	if p.Key != "" {
		if key, err = hex.DecodeString(p.Key); err != nil {
			return nil, nil, errKey
		}
	}
	raw := p.URL
	if raw == "" {
		raw = a.o.Platform.cdn() + "/download?" + url.Values{"encrypted_query_param": {p.Param}}.Encode()
	}
	at, err = a.o.Platform.file(raw)
	return at, key, err
}

// judgeFile makes the error of what the CDN answers; nil for success.
func judgeFile(status int) error {
	switch {
	case status == http.StatusOK:
		return nil
	case status >= 400 && status < 500 && !statuses[status]:
		return fmt.Errorf("%w: %w", channel.ErrRefused, &answer{status: status, meaning: meaning{fate: refused}})
	}
	return &answer{status: status, meaning: meaning{fate: again}}
}
