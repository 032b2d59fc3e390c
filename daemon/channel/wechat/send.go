package wechat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"scv/daemon/channel"
)

// outItem is what a message to send is made of.
type outItem struct {
	Type  int       `json:"type"`
	Text  *outText  `json:"text_item,omitzero"`
	Image *outImage `json:"image_item,omitzero"`
	File  *outFile  `json:"file_item,omitzero"`
	Video *outVideo `json:"video_item,omitzero"`
}

type outText struct {
	Text string `json:"text"`
}

type outMessage struct {
	From   string    `json:"from_user_id"` // "": the bot
	To     string    `json:"to_user_id"`
	Client string    `json:"client_id"`
	Type   int       `json:"message_type"`
	State  int       `json:"message_state"`
	Items  []outItem `json:"item_list"` // one
	Token  string    `json:"context_token,omitzero"`
}

const (
	ofABot   = 2 // message_type
	finished = 2 // message_state
)

type sendBody struct {
	Message outMessage `json:"msg"`
	Base    baseInfo   `json:"base_info"`
}

type sendAnswer struct {
	ID jsontext.Value `json:"message_id"`
}

// Send sends one part.
func (a *Adapter) Send(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
	if out.Kind == channel.Progress { // it is shown as typing
		return channel.Receipt{}, fmt.Errorf("%w: WeChat gets no lines of progress", channel.ErrRefused)
	}
	got, at, err := a.send(ctx, out)
	if err != nil {
		return channel.Receipt{}, a.sendFailed(ctx, err)
	}
	id, _ := readID(got.ID)
	return channel.Receipt{MessageID: id, At: at}, nil
}

func (a *Adapter) send(ctx context.Context, out channel.Outgoing) (sendAnswer, time.Time, error) {
	piece := outItem{Type: itemText, Text: &outText{Mark(out.Kind, out.Text)}}
	if out.File != nil {
		var err error
		if piece, err = a.upload(ctx, out.Chat, *out.File); err != nil {
			return sendAnswer{}, time.Time{}, err
		}
	}
	m := outMessage{
		To: out.Chat, Client: out.ClientID, Type: ofABot, State: finished, Items: []outItem{piece},
	}
	if to, token := spend(out); token != "" {
		m.Token = token
		if to != "" {
			m.To = to
		}
	}
	return askDated[sendAnswer](ctx, a.api, "sendmessage", sendBody{m, thisClient})
}

// spend gives the handle to the one part that may carry it: the first of the one answer to its message. Whatever
// else is said because of that message goes without. A retry carries it again: the platform knows it by its
// client id.
func spend(out channel.Outgoing) (to, token string) {
	if !out.First || out.InReplyTo == "" {
		return "", ""
	}
	return readHandle(out.ReplyHandle)
}

// sendFailed says what a failure means for the part: refused for good, or to be sent again.
func (a *Adapter) sendFailed(ctx context.Context, err error) error {
	refusal, answered := errors.AsType[*answer](err)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errUnsayable), errors.Is(err, errForeign), errors.Is(err, errFile):
		return fmt.Errorf("%w: %w", channel.ErrRefused, err)
	case answered && refusal.fate == refused:
		a.o.Log.Warn("the platform refused a message", "account", a.o.Account.ID(), "status", refusal.status,
			"code", refusal.code)
		return fmt.Errorf("%w: %w", channel.ErrRefused, err)
	case answered && refusal.fate == owner:
		a.fail(permanent(a.o.Account, err)) // nothing can be sent before that is done
	default:
		a.o.Host.Contact(words(err)) // until the next answer to a poll
	}
	return err
}
