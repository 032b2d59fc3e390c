package feishu

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
)

// Credentials are what an account signs in with.
type Credentials struct {
	AppID       string `json:"app_id"`
	AppSecret   string `json:"app_secret"`
	Brand       Brand  `json:"brand"`
	OwnerOpenID string `json:"owner_open_id,omitzero"` // "" when nobody knows who owns the app
}

// Largest sizes in bytes.
const (
	maxAppID  = 64
	maxOpenID = 128
	maxSecret = 256
)

// ValidAppID reports whether id can be an app's.
func ValidAppID(id string) bool { return isID(id, "cli_", maxAppID, "") }

// ValidOpenID reports whether id can be a user's id within an app.
func ValidOpenID(id string) bool { return isID(id, "ou_", maxOpenID, "_-") }

// isID reports whether id is the prefix and then letters, digits and what else is allowed.
func isID(id, prefix string, limit int, also string) bool {
	rest, ok := strings.CutPrefix(id, prefix)
	return ok && rest != "" && len(id) <= limit && !strings.ContainsFunc(rest, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune(also, r)
	})
}

// Check says what is wrong with credentials; never a word of the secret.
func (c Credentials) Check() error {
	switch {
	case !ValidAppID(c.AppID):
		return errors.New("the app id is not one: it begins with cli_")
	case c.AppSecret == "" || len(c.AppSecret) > maxSecret || strings.ContainsFunc(c.AppSecret, unicode.IsControl):
		return errors.New("the app secret is not one: it is 1 to 256 characters on one line")
	case !c.Brand.Known():
		return errors.New("the brand is neither feishu nor lark")
	case c.OwnerOpenID != "" && !ValidOpenID(c.OwnerOpenID):
		return errors.New("the owner's open_id is not one: it begins with ou_")
	}
	return nil
}

// Parse reads saved credentials. Its error says nothing of what they contain.
func Parse(saved []byte) (c Credentials, err error) {
	if err := json.Unmarshal(saved, &c, json.RejectUnknownMembers(true)); err != nil {
		return Credentials{}, errors.New("the saved credentials cannot be read")
	}
	if c.Brand == "" {
		c.Brand = Feishu
	}
	return c, c.Check()
}

// Format is what Parse reads.
func (c Credentials) Format() ([]byte, error) { return json.Marshal(c, json.Deterministic(true)) }

// Identity names the app and its owner, and with them everything that was ever received or promised: another
// app's chats, ids and owner mean nothing to this one. A new secret changes nothing of it.
func (c Credentials) Identity() string {
	owner := any(c.OwnerOpenID)
	if c.OwnerOpenID == "" {
		owner = nil
	}
	named, err := json.Marshal([]any{"feishu", c.Brand, c.AppID, owner})
	if err != nil { // four plain strings
		panic("feishu: an identity cannot be written: " + err.Error())
	}
	sum := sha256.Sum256(named)
	return hex.EncodeToString(sum[:])
}

// Bot is the app's id.
func (c Credentials) Bot() string { return c.AppID }

// Owner is who owns the app, or "".
func (c Credentials) Owner() string { return c.OwnerOpenID }

// Fingerprint tells one set of credentials from another without showing them.
func (c Credentials) Fingerprint() string {
	sum := sha256.Sum256([]byte(c.Identity() + "\x00" + c.AppSecret))
	return hex.EncodeToString(sum[:])
}
