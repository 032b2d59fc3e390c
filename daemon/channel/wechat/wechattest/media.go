package wechattest

import (
	"crypto/aes"
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
)

// blob is a file as the CDN keeps it.
type blob struct {
	param string
	data  []byte // as it is
	key   []byte // nil: not encrypted
	kind  int    // media_type of an upload
}

// size is how much is kept of it.
func (b *blob) size() int {
	if b.key == nil {
		return len(b.data)
	}
	return len(b.data)/aes.BlockSize*aes.BlockSize + aes.BlockSize
}

func newKey() []byte {
	key := make([]byte, aes.BlockSize)
	_, _ = rand.Read(key) // it never fails
	return key
}

func (p *Platform) store(b *blob) *blob {
	b.param = p.newID("param+/") // what a URL must escape
	p.blobs[b.param] = b
	return b
}

const publicCDN = "https://novac2c.cdn.weixin.qq.com/c2c"

// cdnFor is where whoever asks finds the CDN.
func (p *Platform) cdnFor(c *call) string {
	if c.TLS != nil && p.Has(c.Host) {
		return publicCDN
	}
	if c.TLS != nil {
		return p.URL() + "/c2c"
	}
	return p.PlainURL() + "/c2c"
}

// media is how a message names a file.
func (p *Platform) media(b *blob, cdn, key string) object {
	m := object{"encrypt_query_param": b.param, "encrypt_type": 1}
	if key != "" {
		m["aes_key"] = key
	}
	if !p.opts.Bare {
		m["full_url"] = cdn + "/download?encrypted_query_param=" + url.QueryEscape(b.param) + "&taskid=1"
	}
	return m
}

func (p *Platform) download(c *call) answer {
	b := p.blobs[c.URL.Query().Get("encrypted_query_param")]
	if b == nil {
		return answer{status: http.StatusNotFound, header: http.Header{"X-Error-Message": {"no such file"}}}
	}
	if b.key == nil {
		return answer{bytes: b.data}
	}
	return answer{bytes: encrypt(b.data, b.key)}
}

// upload is an upload that was announced.
type upload struct {
	asked uploadRequest
	key   []byte
}

type uploadRequest struct {
	FileKey string `json:"filekey"`
	Kind    int    `json:"media_type"`
	To      string `json:"to_user_id"`
	RawSize int    `json:"rawsize"`
	MD5     string `json:"rawfilemd5"`
	Size    int    `json:"filesize"`
	NoThumb bool   `json:"no_need_thumb"`
	Key     string `json:"aeskey"`
}

// is16 reports whether a text is 16 bytes in small hex digits.
func is16(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == 16 && text == hex.EncodeToString(raw)
}

func (p *Platform) giveUploadURL(c *call) answer {
	var asked uploadRequest
	err := json.Unmarshal(c.text, &asked)
	key, badKey := hex.DecodeString(asked.Key)
	if err != nil || badKey != nil || len(key) != aes.BlockSize || !is16(asked.FileKey) || !is16(asked.MD5) ||
		asked.Kind < 1 || asked.Kind > 3 || !asked.NoThumb || asked.RawSize < 1 || asked.To == "" ||
		asked.Size != asked.RawSize/aes.BlockSize*aes.BlockSize+aes.BlockSize {
		p.Complain("an upload that no client announces: %.300s", c.text)
		return refuse(invalid, "invalid request")
	}
	param := p.newID("upload+/")
	p.uploads[param] = &upload{asked, key}
	if p.opts.Bare {
		return ok(object{"ret": 0, "upload_param": param})
	}
	at := "/upload?encrypted_query_param=" + url.QueryEscape(param) + "&filekey=" + asked.FileKey + "&taskid=1"
	return ok(object{"ret": 0, "upload_full_url": p.cdnFor(c) + at})
}

func (p *Platform) upload(c *call) answer {
	no := func(why string) answer {
		p.Complain("an upload: %s", why)
		return answer{status: http.StatusBadRequest, header: http.Header{"X-Error-Message": {why}}}
	}
	query := c.URL.Query()
	u := p.uploads[query.Get("encrypted_query_param")]
	if u == nil || query.Get("filekey") != u.asked.FileKey {
		return no("nobody announced it")
	}
	data, err := decrypt(c.text, u.key)
	sum := md5.Sum(data)
	switch {
	case c.Header.Get("Content-Type") != "application/octet-stream":
		return no("it is of the type " + strconv.Quote(c.Header.Get("Content-Type")))
	case err != nil:
		return no(err.Error())
	case len(c.text) != u.asked.Size || len(data) != u.asked.RawSize || hex.EncodeToString(sum[:]) != u.asked.MD5:
		return no("it is not what was announced")
	}
	b := p.store(&blob{data: data, key: u.key, kind: u.asked.Kind})
	return answer{header: http.Header{"X-Encrypted-Param": {b.param}}}
}

// sentMedia is a file as a bot's message names it.
type sentMedia struct {
	Media struct {
		Param string `json:"encrypt_query_param"`
		Key   string `json:"aes_key"`
		Type  int    `json:"encrypt_type"`
	} `json:"media"`
	Name      string `json:"file_name"`
	Len       string `json:"len"`
	MidSize   int    `json:"mid_size"`
	VideoSize int    `json:"video_size"`
}

// sentFile is the file that a message names, nil where it names none.
func (p *Platform) sentFile(m sentMedia, kind int) *SentFile {
	b := p.blobs[m.Media.Param]
	digits, err := base64.StdEncoding.DecodeString(m.Media.Key)
	sizes := map[int]bool{
		1: b != nil && m.MidSize == b.size(), 2: b != nil && m.VideoSize == b.size(),
		3: b != nil && m.Len == strconv.Itoa(len(b.data)) && m.Name != "",
	}
	if b == nil || err != nil || string(digits) != hex.EncodeToString(b.key) || m.Media.Type != 1 || b.kind != kind || !sizes[kind] {
		p.Complain("a message names a file wrongly: %+v", m)
		return nil
	}
	return &SentFile{Name: m.Name, Data: b.data}
}

// encrypt is AES-128-ECB with PKCS#7.
func encrypt(data, key []byte) []byte {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // newKey has made it, or giveUploadURL has checked it
	}
	pad := aes.BlockSize - len(data)%aes.BlockSize
	out := make([]byte, len(data)+pad)
	copy(out, data)
	for i := len(data); i < len(out); i++ {
		out[i] = byte(pad)
	}
	for at := 0; at < len(out); at += aes.BlockSize {
		block.Encrypt(out[at:at+aes.BlockSize], out[at:at+aes.BlockSize])
	}
	return out
}

func decrypt(text, key []byte) ([]byte, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	if len(text) == 0 || len(text)%aes.BlockSize != 0 {
		return nil, errors.New("it is no whole number of blocks")
	}
	out := make([]byte, len(text))
	for at := 0; at < len(out); at += aes.BlockSize {
		block.Decrypt(out[at:at+aes.BlockSize], text[at:at+aes.BlockSize])
	}
	pad := int(out[len(out)-1])
	if pad < 1 || pad > aes.BlockSize {
		return nil, errors.New("its padding is wrong")
	}
	for _, b := range out[len(out)-pad:] {
		if int(b) != pad {
			return nil, errors.New("its padding is wrong")
		}
	}
	return out[:len(out)-pad], nil
}
