package wechat

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
	Token   string `json:"token"`
	BaseURL string `json:"base_url"`         // origin of the API
	BotID   string `json:"bot_id,omitzero"`  // "" where nobody wrote it down
	UserID  string `json:"user_id,omitzero"` // whose bot it is, or ""
}

// Largest sizes in bytes. The platform gives no bounds; what it sends is a tenth of these.
const (
	maxToken = 4 << 10
	maxID    = 256
)

// Check says what is wrong with credentials; never a word of the token.
func (c Credentials) Check() error {
	origin, err := ReadOrigin(c.BaseURL)
	switch {
	case !plain(c.Token, maxToken) || c.Token == "":
		return errors.New("the token is not one")
	case err != nil || origin != c.BaseURL:
		return errors.New("the base_url is not one: it is https:// and a host alone")
	case !plain(c.BotID, maxID):
		return errors.New("the bot's id is not one")
	case !plain(c.UserID, maxID):
		return errors.New("the owner's id is not one")
	}
	return nil
}

// plain reports whether a text is one word without anything that is not printed, so that it can stand in a
// header, or is empty.
func plain(text string, limit int) bool {
	return len(text) <= limit && !strings.ContainsFunc(text, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsGraphic(r) || unicode.IsSpace(r)
	})
}

// Parse reads saved credentials. Its error says nothing of what they contain.
func Parse(saved []byte) (c Credentials, err error) {
	if err := json.Unmarshal(saved, &c, json.RejectUnknownMembers(true)); err != nil {
		return Credentials{}, errors.New("the saved credentials cannot be read")
	}
	return c, c.Check()
}

// Format is what Parse reads.
func (c Credentials) Format() ([]byte, error) { return json.Marshal(c, json.Deterministic(true)) }

// Identity names the bot and its owner, and with them everything that was ever received or promised. A new
// token of the same bot changes nothing of it; where the bot has no id, the token is all that names it.
func (c Credentials) Identity() string {
	named := []any{"identity", c.BaseURL, c.BotID, c.UserID}
	if c.BotID == "" || c.UserID == "" {
		named = []any{"legacy", c.BaseURL, c.Token, orNull(c.BotID), orNull(c.UserID)}
	}
	return digest(named)
}

// Bot is the bot's id, or "".
func (c Credentials) Bot() string { return c.BotID }

// Owner is whose bot it is, or "".
func (c Credentials) Owner() string { return c.UserID }

// Fingerprint tells one set of credentials from another without showing them.
func (c Credentials) Fingerprint() string { return digest([]any{c.Identity(), c.Token}) }

func orNull(id string) any {
	if id == "" {
		return nil
	}
	return id
}

func digest(named []any) string {
	text, err := json.Marshal(named)
	if err != nil { // plain strings, which Check has seen
		panic("wechat: an identity cannot be written: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
