package feishu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"scv/daemon/channel"
)

// What the platform takes, in bytes.
const (
	maxImage = 10 << 20
	maxFile  = 30 << 20
)

// MaxUpload is the largest file of any kind: a picture that is too large for one goes as a file.
func (a *Adapter) MaxUpload(channel.FileKind) int64 { return maxFile }

type uploadAnswer struct {
	Data struct {
		ImageKey string `json:"image_key"`
		FileKey  string `json:"file_key"`
	} `json:"data"`
}

// uploaded hands a file to the platform and gives what a message that shows it has for kind and content. A
// repeat hands it over again: the platform knows the message by its uuid, and nobody sees the file twice.
func (a *Adapter) uploaded(ctx context.Context, file channel.Upload) (kind, content string, err error) {
	if file.Kind == channel.Image && file.Size <= maxImage {
		kind, content, err = a.uploadAs(ctx, file, "image", map[string]string{"image_type": "message"})
		if err == nil || !errors.Is(err, channel.ErrRefused) {
			return kind, content, err
		}
		a.o.Log.Info("a picture is none to the platform, and goes as a file", "account", a.o.Account.ID(), "err", err)
	}
	name := fileName(file.Name)
	return a.uploadAs(ctx, file, "file", map[string]string{"file_type": fileType(name), "file_name": name})
}

// uploadAs uploads to the folder of a kind, in which the part with the file and the key of the answer have
// the kind's name.
func (a *Adapter) uploadAs(ctx context.Context, file channel.Upload, kind string, fields map[string]string) (string, string, error) {
	ctx, cancel := context.WithTimeout(ctx, fileTime)
	defer cancel()
	slow := a.api.client
	slow.limit = fileTime
	var got uploadAnswer
	make := func() (*http.Request, error) {
		return slow.form(ctx, "/open-apis/im/v1/"+kind+"s", kind, file, fields)
	}
	err := a.api.withToken(ctx, make, func(request *http.Request) (err error) {
		got, err = ask[uploadAnswer](&slow, request, codes)
		return err
	})
	if err != nil {
		return "", "", a.withoutFile(ctx, err)
	}
	key := got.Data.FileKey
	if kind == "image" {
		key = got.Data.ImageKey
	}
	content, err := json.Marshal(map[string]string{kind + "_key": key})
	if key == "" || err != nil {
		return "", "", &answer{status: http.StatusOK, meaning: meaning{says: "no key of the file"}}
	}
	return kind, string(content), nil
}

// form makes a request whose body is a form with a file, which is read while it is sent.
func (c *client) form(ctx context.Context, path, part string, file channel.Upload, fields map[string]string) (*http.Request, error) {
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			return nil, err
		}
	}
	if _, err := form.CreateFormFile(part, fileName(file.Name)); err != nil {
		return nil, err
	}
	tail := "\r\n--" + form.Boundary() + "--\r\n"
	body, err := os.Open(file.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: our copy cannot be read: %w", channel.ErrRefused, err)
	}
	length := int64(head.Len()) + file.Size + int64(len(tail))
	whole := io.MultiReader(&head, io.LimitReader(body, file.Size), strings.NewReader(tail))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.platform.Open+path, readCloser{whole, body})
	if err != nil {
		return nil, errors.Join(err, body.Close())
	}
	request.ContentLength = length
	request.Header.Set("Content-Type", form.FormDataContentType())
	return request, nil
}

// readCloser reads from one and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}

// fileName is a name that means nothing to whoever reads the form.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' || r == '/' || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
}

// fileType is what the platform wants to know of a file, by its name.
func fileType(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".pdf":
		return "pdf"
	case ".doc", ".docx":
		return "doc"
	case ".xls", ".xlsx":
		return "xls"
	case ".ppt", ".pptx":
		return "ppt"
	}
	return "stream"
}
