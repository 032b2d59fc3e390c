package feishu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"

	"scv/daemon/channel"
)

// inThread begins the reply handle of a message in a thread.
const inThread = "thread:"

// maxUUID is how long the id may be by which the platform knows a repeat, for an hour.
const maxUUID = 50

type sendBody struct {
	To       string `json:"receive_id,omitzero"`
	Kind     string `json:"msg_type"`
	Content  string `json:"content"`
	UUID     string `json:"uuid"`
	InThread bool   `json:"reply_in_thread,omitzero"`
}

type sendAnswer struct {
	Data struct {
		ID      string `json:"message_id"`
		Chat    string `json:"chat_id"`
		Created string `json:"create_time"`
	} `json:"data"`
}

// Send sends one part: as a reply to the message it has the handle of, else into its chat.
func (a *Adapter) Send(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
	kind, content, err := a.content(ctx, out)
	if err != nil {
		return channel.Receipt{}, a.sendFailed(ctx, err)
	}
	body := sendBody{Kind: kind, Content: content, UUID: uuid(out.ClientID)}
	got, err := a.reply(ctx, out, body)
	if err != nil {
		return channel.Receipt{}, a.sendFailed(ctx, err)
	}
	if out.Chat == a.o.Account.OwnerID && got.Data.Chat != "" {
		a.learn(owned{got.Data.Chat, channel.Millis(got.Data.Created)})
	}
	return channel.Receipt{MessageID: got.Data.ID, At: channel.Millis(got.Data.Created)}, nil
}

// content is what a part says, as the platform wants it: a text, or a file that it has taken before.
func (a *Adapter) content(ctx context.Context, out channel.Outgoing) (kind, content string, err error) {
	if out.File != nil {
		return a.uploaded(ctx, *out.File)
	}
	text, err := json.Marshal(map[string]string{"text": harmless(out.Text)})
	if err != nil {
		return "", "", fmt.Errorf("%w: it is no text", channel.ErrRefused)
	}
	return "text", string(text), nil
}

// reply follows the handle. Where a thread cannot be replied to, its chat can be.
func (a *Adapter) reply(ctx context.Context, out channel.Outgoing, body sendBody) (sendAnswer, error) {
	if out.ReplyHandle == "" {
		return a.unprompted(ctx, out.Chat, body)
	}
	id, thread := strings.CutPrefix(out.ReplyHandle, inThread)
	body.InThread = thread
	got, err := post[sendAnswer](ctx, a.api, "/open-apis/im/v1/messages/"+url.PathEscape(id)+"/reply", body)
	if refusal, ok := errors.AsType[*answer](err); ok && thread && noThread[refusal.code] {
		body.InThread = false
		return a.unprompted(ctx, out.Chat, body)
	}
	return got, err
}

func (a *Adapter) unprompted(ctx context.Context, chat string, body sendBody) (sendAnswer, error) {
	kind := "chat_id"
	if ValidOpenID(chat) {
		kind = "open_id"
	}
	body.To = chat
	return post[sendAnswer](ctx, a.api, "/open-apis/im/v1/messages?receive_id_type="+kind, body)
}

// sendFailed says what a failure means for the part: refused for good, or to be sent again.
func (a *Adapter) sendFailed(ctx context.Context, err error) error {
	refusal, answered := errors.AsType[*answer](err)
	switch {
	case ctx.Err() != nil, errors.Is(err, channel.ErrRefused):
	case !answered || refusal.status >= 500:
		a.doubt(err)
	case refusal.fate == refused:
		return fmt.Errorf("%w: %w", channel.ErrRefused, err)
	case refusal.fate == owner:
		a.fail(permanent(err)) // nothing can be sent before that is done
	}
	return err
}

// learn passes on where the owner's direct chat is, so that what is written there can be caught up on even
// before the first message came from it. Serve may be busy or over: then a later send tells.
func (a *Adapter) learn(o owned) {
	select {
	case a.learned <- o:
	default:
	}
}

// harmless breaks what the platform would take for a mention: an agent's words must not call on anybody.
func harmless(text string) string {
	return mentions.Replace(text)
}

var mentions = strings.NewReplacer("<at", "<\u200bat", "<aT", "<\u200baT", "<At", "<\u200bAt", "<AT", "<\u200bAT")

// uuid is a client id as the platform takes it.
func uuid(clientID string) string {
	if len(clientID) <= maxUUID {
		return clientID
	}
	sum := sha256.Sum256([]byte(clientID))
	return hex.EncodeToString(sum[:maxUUID/2])
}
