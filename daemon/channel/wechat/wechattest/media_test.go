package wechattest

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
)

// files are what a message's items name, decrypted as a client would.
func (c *client) files(m map[string]any) (contents []string) {
	c.t.Helper()
	for _, raw := range m["item_list"].([]any) {
		for name, inner := range raw.(object) {
			it, is := inner.(object)
			if !is || !strings.HasSuffix(name, "_item") || it["media"] == nil {
				continue
			}
			media := it["media"].(object)
			from, full := media["full_url"].(string)
			if !full {
				from = publicCDN + "/download?encrypted_query_param=" + url.QueryEscape(media["encrypt_query_param"].(string))
			}
			content := []byte(c.get(from).text)
			if key := keyOf(it, media); key != nil {
				var err error
				if content, err = decrypt(content, key); err != nil {
					c.t.Errorf("%s: %v", name, err)
				}
			}
			contents = append(contents, string(content))
		}
	}
	return contents
}

func keyOf(it, media object) []byte {
	digits, given := it["aeskey"].(string)
	if coded, is := media["aes_key"].(string); !given && is {
		raw, _ := base64.StdEncoding.DecodeString(coded)
		digits, given = string(raw), true
	}
	if !given {
		return nil
	}
	key, _ := hex.DecodeString(digits)
	return key
}

func TestFilesOfPeople(t *testing.T) {
	for _, bare := range []bool{false, true} {
		p := New(t, Options{Bare: bare})
		bot := p.Bot()
		p.Say(bot.ID, bot.Owner, "", Image([]byte("pixels")))
		p.Say(bot.ID, bot.Owner, "", PlainImage([]byte("plain")))
		p.Say(bot.ID, bot.Owner, "", File("a.txt", []byte(strings.Repeat("x", 16))))
		p.Say(bot.ID, bot.Owner, "", Voice([]byte("sound"), "spoken"))
		p.Say(bot.ID, bot.Owner, "look", Video([]byte("moves")))
		var got []string
		c := newClient(t, p, bot)
		for _, m := range c.poll("").Msgs {
			got = append(got, c.files(m)...)
		}
		if want := "pixels plain " + strings.Repeat("x", 16) + " sound moves"; strings.Join(got, " ") != want {
			t.Errorf("bare %v: %q", bare, got)
		}
		if r := c.get(publicCDN + "/download?encrypted_query_param=x"); r.status != 404 {
			t.Errorf("a file that is not there: %d", r.status)
		}
	}
}

// upload does all of an upload and gives what the CDN calls the file.
func (c *client) upload(kind int, data, key []byte) string {
	c.t.Helper()
	sum, cipher := md5.Sum(data), encrypt(data, key)
	announced := c.post("getuploadurl", object{
		"filekey": strings.Repeat("0a", 16), "media_type": kind, "to_user_id": c.bot.Owner, "rawsize": len(data),
		"rawfilemd5": hex.EncodeToString(sum[:]), "filesize": len(cipher), "no_need_thumb": true, "aeskey": hex.EncodeToString(key),
	})
	to := announced.field("upload_full_url")
	if to == "" {
		to = publicCDN + "/upload?encrypted_query_param=" + url.QueryEscape(announced.field("upload_param")) + "&filekey=" + strings.Repeat("0a", 16)
	}
	return c.do("POST", to, "application/octet-stream", cipher).header.Get("X-Encrypted-Param")
}

func TestFilesOfBots(t *testing.T) {
	for _, bare := range []bool{false, true} {
		p := New(t, Options{Bare: bare})
		c := newClient(t, p, p.Bot())
		key := newKey()
		media := func(kind int, data string) object {
			return object{
				"encrypt_query_param": c.upload(kind, []byte(data), key), "encrypt_type": 1,
				"aes_key": base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString(key))),
			}
		}
		for i, it := range []object{
			{"type": 2, "image_item": object{"media": media(1, "pixels"), "mid_size": 16}},
			{"type": 5, "video_item": object{"media": media(2, "moves"), "video_size": 16}},
			{"type": 4, "file_item": object{"media": media(3, "letters"), "file_name": "a.txt", "len": "7"}},
		} {
			if r := c.post("sendmessage", c.item(c.bot.Owner, string(rune('a'+i)), "", it)); r.Ret != nil {
				t.Errorf("answered %s", r.text)
			}
		}
		sent := p.Sent()
		if len(sent) != 3 || string(sent[0].File.Data) != "pixels" || string(sent[1].File.Data) != "moves" || sent[2].File.Name != "a.txt" {
			t.Errorf("sent %+v", sent)
		}
	}
}

func TestUploadsThatNoClientMakes(t *testing.T) {
	p, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := newClient(t, p, p.Bot())
	if r := c.post("getuploadurl", object{"media_type": 1}); r.Ret == nil || *r.Ret == 0 {
		t.Errorf("announced %s", r.text)
	}
	if r := c.do("POST", publicCDN+"/upload?encrypted_query_param=x", "application/octet-stream", nil); r.status != 400 {
		t.Errorf("not announced: %d", r.status)
	}
	p.Inject(Fault{Route: Upload, Status: 500})
	if got := c.upload(1, []byte("x"), newKey()); got != "" {
		t.Errorf("after a fault: %q", got)
	}
	if len(p.Complaints()) != 2 {
		t.Errorf("complaints %q", p.Complaints())
	}
}

func TestPadding(t *testing.T) {
	key := newKey()
	for n := range 40 {
		data := []byte(strings.Repeat("x", n))
		got, err := decrypt(encrypt(data, key), key)
		if err != nil || string(got) != string(data) {
			t.Errorf("%d bytes: %q, %v", n, got, err)
		}
	}
	for _, text := range []string{"", "x", strings.Repeat("x", 16)} {
		if _, err := decrypt([]byte(text), key); err == nil {
			t.Errorf("%q is decrypted", text)
		}
	}
}
