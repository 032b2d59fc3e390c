package feishu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"scv/daemon/channel"
)

// fileTime bounds one request with a file, whichever way it goes.
const fileTime = 120 * time.Second

// reference is a channel.File's Ref: the message that holds the file, and the file in it.
type reference struct {
	Message string `json:"message"`
	Key     string `json:"key"`
	Image   bool   `json:"image,omitzero"` // the platform keeps pictures apart
}

// of is the file as the port has it, within the message of that id. The platform does not say how large it is.
func (f attachment) of(message string) channel.File {
	file := channel.File{Kind: f.kind, Name: f.name}
	if f.key == "" {
		return file
	}
	ref, err := json.Marshal(reference{message, f.key, f.kind == channel.Image})
	if err != nil { // it is no text: the platform does not know it
		return file
	}
	file.Ref = string(ref)
	return file
}

// Fetch downloads a file of a message.
func (a *Adapter) Fetch(ctx context.Context, file channel.File, w io.Writer, limit int64) error {
	var ref reference
	if channel.ReadJSON([]byte(file.Ref), &ref) != nil || ref.Message == "" || ref.Key == "" {
		return fmt.Errorf("%w: its reference cannot be read", channel.ErrRefused)
	}
	kind := "file"
	if ref.Image {
		kind = "image"
	}
	ctx, cancel := context.WithTimeout(ctx, fileTime)
	defer cancel()
	at := a.api.platform.Open + "/open-apis/im/v1/messages/" + url.PathEscape(ref.Message) +
		"/resources/" + url.PathEscape(ref.Key) + "?type=" + kind
	make := func() (*http.Request, error) { return http.NewRequestWithContext(ctx, http.MethodGet, at, nil) }
	err := a.api.withToken(ctx, make, func(request *http.Request) error {
		return a.api.download(request, w, limit)
	})
	return a.withoutFile(ctx, err)
}

// download copies what a request is answered with, if that is a file and not too large.
func (c *client) download(request *http.Request, w io.Writer, limit int64) error {
	response, err := c.http.Do(request)
	if err != nil {
		return noAnswer(err)
	}
	defer response.Body.Close()
	if !isFile(response) {
		return refusalIn(response)
	}
	if response.ContentLength > limit {
		return channel.ErrTooLarge
	}
	return channel.CopyAtMost(w, arriving{response.Body}, limit)
}

// arriving is what the platform sends: what fails in reading it is no fault of who writes it down.
type arriving struct{ io.Reader }

func (a arriving) Read(b []byte) (int, error) {
	n, err := a.Reader.Read(b)
	if err != nil && err != io.EOF {
		err = noAnswer(err)
	}
	return n, err
}

// isFile tells a file from an answer, which may come with status 200 too. A file that is JSON itself comes as an
// attachment.
func isFile(response *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return response.StatusCode == http.StatusOK &&
		(kind != "application/json" || response.Header.Get("Content-Disposition") != "")
}

// refusalIn is why there is no file. An answer without a code of its own is no success either.
func refusalIn(response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return noAnswer(err)
	}
	var head struct {
		Code int `json:"code"`
	}
	coded := channel.ReadJSON(body, &head) == nil && head.Code != 0
	if err := judge(codes, response.StatusCode, head.Code, coded); err != nil {
		return err
	}
	return &answer{status: response.StatusCode, meaning: meaning{says: "something that is no file"}}
}

// withoutFile says what a failure means for a file. An app that may not touch files goes on without them: only
// whoever reads the log can add the permission.
func (a *Adapter) withoutFile(ctx context.Context, err error) error {
	refusal, answered := errors.AsType[*answer](err)
	if !answered || ctx.Err() != nil {
		return err
	}
	if refusal.code == noScope {
		a.o.Log.Error("files cannot be had or sent", "account", a.o.Account.ID(), "err", err)
		return fmt.Errorf("%w: %w", channel.ErrRefused, err)
	}
	if refusal.fate == refused {
		return fmt.Errorf("%w: %w", channel.ErrRefused, err)
	}
	return err
}
