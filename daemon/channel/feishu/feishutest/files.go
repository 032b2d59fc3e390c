package feishutest

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
)

// Limits of files, in bytes.
const (
	maxImage = 10 << 20
	maxFile  = 30 << 20
)

// Codes of refused files.
const (
	codeFileInvalid  = 234001
	codeFileNotHere  = 234003
	codeFileNoAccess = 234004
	codeFileTooLarge = 234006
	codeFileEmpty    = 234010
)

// form is an upload's fields and its file.
type form struct {
	fields map[string]string
	file   []byte
}

// form reads a multipart body whose file is the part called name.
func (c *call) form(name string) (*form, error) {
	_, params, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	f := &form{fields: map[string]string{}}
	for parts := multipart.NewReader(bytes.NewReader(c.text), params["boundary"]); ; {
		part, err := parts.NextPart()
		if err == io.EOF {
			return f, nil
		} else if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		if part.FormName() == name {
			f.file = text
		} else {
			f.fields[part.FormName()] = string(text)
		}
	}
}

func (p *Platform) uploadImage(c *call) answer {
	f, err := c.form("image")
	if err != nil || !slices.Contains([]string{"message", "avatar"}, f.fields["image_type"]) {
		return refuse(http.StatusBadRequest, codeFileInvalid, "Invalid request param.")
	}
	if bad := checkSize(f.file, maxImage); bad != nil {
		return *bad
	}
	return ok(object{"image_key": p.store("img_v3_", &blob{app: c.app.ID, name: "image", data: f.file, image: true})})
}

func (p *Platform) uploadFile(c *call) answer {
	f, err := c.form("file")
	kinds := []string{"opus", "mp4", "pdf", "doc", "xls", "ppt", "stream"}
	if err != nil || !slices.Contains(kinds, f.fields["file_type"]) || f.fields["file_name"] == "" {
		return refuse(http.StatusBadRequest, codeFileInvalid, "Invalid request param.")
	}
	if bad := checkSize(f.file, maxFile); bad != nil {
		return *bad
	}
	return ok(object{"file_key": p.store("file_v3_", &blob{app: c.app.ID, name: f.fields["file_name"], data: f.file})})
}

func checkSize(file []byte, limit int) *answer {
	var a answer
	switch {
	case len(file) == 0:
		a = refuse(http.StatusBadRequest, codeFileEmpty, "File's size can't be 0.")
	case len(file) > limit:
		a = refuse(http.StatusBadRequest, codeFileTooLarge, "The file size exceed the max value.")
	default:
		return nil
	}
	return &a
}

// resource serves a file that a message holds.
func (p *Platform) resource(c *call) answer {
	m := p.message(c.PathValue("id"))
	key := c.PathValue("key")
	b := p.stored[key]
	switch kind := c.URL.Query().Get("type"); {
	case m == nil || kind != "image" && kind != "file":
		return refuse(http.StatusBadRequest, codeFileInvalid, "Invalid request param.")
	case !p.chat(m.chat).has(c.app.ID):
		return refuse(http.StatusBadRequest, codeFileNoAccess, "The app is not in the chat.")
	case b == nil || !strings.Contains(m.content, `"`+key+`"`) || b.image != (kind == "image"):
		return refuse(http.StatusBadRequest, codeFileNotHere, "File not in msg.")
	}
	return answer{bytes: b.data, contentType: b.contentType(), header: http.Header{
		"Content-Disposition": {mime.FormatMediaType("attachment", map[string]string{"filename": b.name})},
	}}
}
