package wechat

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

func TestCredentials(t *testing.T) {
	for saved, says := range map[string]string{
		`{"token":"s3cret","base_url":"https://ilinkai.weixin.qq.com","bot_id":"b@im.bot","user_id":"u@im.wechat"}`: "",
		`{"token":"s3cret","base_url":"https://ilinkai.weixin.qq.com"}`:                                             "",
		`{"token":"s3cret"`: "cannot be read",
		`{"token":"s3cret","base_url":"https://ilinkai.weixin.qq.com","app_id":"x"}`:       "cannot be read",
		`{"token":"","base_url":"https://ilinkai.weixin.qq.com"}`:                          "token",
		`{"token":"s3cret\nX-Evil: 1","base_url":"https://ilinkai.weixin.qq.com"}`:         "token",
		`{"token":"s3cret","base_url":"http://ilinkai.weixin.qq.com"}`:                     "base_url",
		`{"token":"s3cret","base_url":"https://ilinkai.weixin.qq.com/"}`:                   "base_url",
		`{"token":"s3cret","base_url":"https://u:p@ilinkai.weixin.qq.com"}`:                "base_url",
		`{"token":"s3cret","base_url":"https://ilinkai.weixin.qq.com:8443"}`:               "base_url",
		`{"token":"s3cret","base_url":"https://ilinkai.weixin.qq.com","bot_id":"a b"}`:     "bot's id",
		`{"token":"s3cret","base_url":"https://ilinkai.weixin.qq.com","user_id":"\u0007"}`: "owner's id",
	} {
		_, err := Parse([]byte(saved))
		switch {
		case says == "" && err != nil, says != "" && (err == nil || !strings.Contains(err.Error(), says)):
			t.Errorf("%s: %v, not %q", saved, err, says)
		case err != nil && strings.Contains(err.Error(), "s3cret"):
			t.Errorf("it shows the token: %v", err)
		}
	}
}

// A new token of the same bot keeps everything; another bot, owner or place does not.
func TestIdentity(t *testing.T) {
	c := Credentials{Token: "t1", BaseURL: "https://a.weixin.qq.com", BotID: "b", UserID: "u"}
	sum := sha256.Sum256([]byte(`["identity","https://a.weixin.qq.com","b","u"]`))
	if c.Identity() != hex.EncodeToString(sum[:]) {
		t.Errorf("identity %s", c.Identity())
	}
	rotated, moved, other, owned, unknown := c, c, c, c, c
	rotated.Token, moved.BaseURL, other.BotID, owned.UserID, unknown.UserID = "t2", "https://b.weixin.qq.com", "b2", "u2", ""
	if rotated.Identity() != c.Identity() || rotated.Fingerprint() == c.Fingerprint() {
		t.Error("a new token is another identity, or looks like the old one")
	}
	for _, not := range []Credentials{moved, other, owned, unknown} {
		if not.Identity() == c.Identity() {
			t.Errorf("%+v is the same identity", not)
		}
	}
	sum = sha256.Sum256([]byte(`["legacy","https://a.weixin.qq.com","t1","b",null]`))
	if unknown.Identity() != hex.EncodeToString(sum[:]) {
		t.Errorf("identity without an owner %s", unknown.Identity())
	}
}
