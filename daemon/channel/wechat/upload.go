package wechat

import (
	"context"
	"crypto/md5" // the platform's choice: it finds a broken upload, and proves nothing
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"scv/daemon/channel"
)

// maxUpload is the largest file sent, in bytes. The platform publishes no bound.
const maxUpload = 25 << 20

// MaxUpload is the largest file of any kind.
func (a *Adapter) MaxUpload(channel.FileKind) int64 { return maxUpload }

// errFile is a file of ours that cannot be sent.
var errFile = errors.New("the file cannot be sent")

// Types of items, and of uploads.
const (
	itemText  = 1
	itemImage = 2
	itemFile  = 4
	itemVideo = 5

	uploadImage = 1
	uploadVideo = 2
	uploadFile  = 3
)

type outMedia struct {
	Param string `json:"encrypt_query_param"`
	Key   string `json:"aes_key"`
	Type  int    `json:"encrypt_type"`
}

type outImage struct {
	Media outMedia `json:"media"`
	Size  int64    `json:"mid_size"` // encrypted
}

type outVideo struct {
	Media outMedia `json:"media"`
	Size  int64    `json:"video_size"` // encrypted
}

type outFile struct {
	Media outMedia `json:"media"`
	Name  string   `json:"file_name"`
	Len   string   `json:"len"` // as it is
}

type uploadBody struct {
	FileKey string   `json:"filekey"`
	Type    int      `json:"media_type"`
	To      string   `json:"to_user_id"`
	Size    int64    `json:"rawsize"`
	Sum     string   `json:"rawfilemd5"`
	Sealed  int64    `json:"filesize"`
	NoThumb bool     `json:"no_need_thumb"`
	Key     string   `json:"aeskey"`
	Base    baseInfo `json:"base_info"`
}

type uploadAnswer struct {
	URL   string `json:"upload_full_url"`
	Param string `json:"upload_param"`
}

// upload puts a file where the platform wants it, and gives the item that shows it. Every try uploads anew, with
// a key of its own: what nobody was shown is forgotten there.
func (a *Adapter) upload(ctx context.Context, to string, file channel.Upload) (outItem, error) {
	ctx, cancel := context.WithTimeout(ctx, fileTime)
	defer cancel()
	if file.Size <= 0 || file.Size > maxUpload {
		return outItem{}, fmt.Errorf("%w: it has %d bytes", errFile, file.Size)
	}
	from, err := os.Open(file.Path)
	if err != nil {
		return outItem{}, fmt.Errorf("%w: %w", errFile, err)
	}
	defer from.Close()
	sum := md5.New()
	if n, err := io.Copy(sum, from); err != nil || n != file.Size {
		return outItem{}, fmt.Errorf("%w: it is not as it was: %w", errFile, errors.Join(err, io.ErrUnexpectedEOF))
	}
	key, fileKey := random(), hex.EncodeToString(random())
	place, err := ask[uploadAnswer](ctx, a.api, "getuploadurl", uploadBody{
		FileKey: fileKey, Type: uploadType(file.Kind), To: to, Size: file.Size, Sum: hex.EncodeToString(sum.Sum(nil)),
		Sealed: sealedSize(file.Size), NoThumb: true, Key: hex.EncodeToString(key), Base: thisClient,
	})
	if err != nil {
		return outItem{}, err
	}
	at, err := a.uploadURL(place, fileKey)
	if err != nil {
		return outItem{}, err
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return outItem{}, fmt.Errorf("cannot read a file again: %w", err)
	}
	param, err := a.put(ctx, at, from, key, sealedSize(file.Size))
	if err != nil {
		return outItem{}, err
	}
	digits := base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString(key)))
	return shown(file, outMedia{param, digits, 1}), nil
}

func random() []byte {
	b := make([]byte, keySize)
	_, _ = rand.Read(b) // it never fails
	return b
}

func uploadType(kind channel.FileKind) int {
	switch kind {
	case channel.Image:
		return uploadImage
	case channel.Video:
		return uploadVideo
	}
	return uploadFile
}

func shown(file channel.Upload, m outMedia) outItem {
	switch uploadType(file.Kind) {
	case uploadImage:
		return outItem{Type: itemImage, Image: &outImage{m, sealedSize(file.Size)}}
	case uploadVideo:
		return outItem{Type: itemVideo, Video: &outVideo{m, sealedSize(file.Size)}}
	}
	return outItem{Type: itemFile, File: &outFile{m, file.Name, strconv.FormatInt(file.Size, 10)}}
}

func (a *Adapter) uploadURL(to uploadAnswer, fileKey string) (*url.URL, error) {
	switch {
	case to.URL != "":
		return a.o.Platform.file(to.URL)
	case to.Param != "":
		query := url.Values{"encrypted_query_param": {to.Param}, "filekey": {fileKey}}
		return a.o.Platform.file(a.o.Platform.cdn() + "/upload?" + query.Encode())
	}
	return nil, unread(http.StatusOK)
}

// put uploads, and gives what the file is fetched with.
func (a *Adapter) put(ctx context.Context, at *url.URL, from io.Reader, key []byte, sealed int64) (param string, err error) {
	body, err := newSealer(from, key)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), body)
	if err != nil {
		return "", errForeign
	}
	request.ContentLength = sealed
	request.Header.Set("Content-Type", "application/octet-stream")
	response, err := a.api.http.Do(request)
	if err != nil {
		return "", &unreachable{err: channel.WithoutURL(err)}
	}
	defer response.Body.Close()
	if err := judgeFile(response.StatusCode); err != nil {
		return "", err
	}
	if param = response.Header.Get("X-Encrypted-Param"); param == "" {
		return "", unread(response.StatusCode)
	}
	return param, nil
}
