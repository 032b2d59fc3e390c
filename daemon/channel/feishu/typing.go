package feishu

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"scv/daemon/channel"
)

// Typing is a reaction on the message: the platform shows nothing else of a bot that is at work.
const (
	typing    = "Typing"        // the platform's name of the emoji
	reactTime = 2 * time.Second // to put it there, and again to take it back: a stop of the account waits for both
)

type reactionBody struct {
	Type struct {
		Emoji string `json:"emoji_type"`
	} `json:"reaction_type"`
}

type reactionAnswer struct {
	Data struct {
		ID string `json:"reaction_id"`
	} `json:"data"`
}

// Typing puts a reaction on a message until ctx ends. Whether it stands is always found out, since only who knows
// its id can take it back.
func (a *Adapter) Typing(ctx context.Context, _, handle string) {
	if err := a.react(ctx, handle); err != nil {
		a.o.Log.Debug("a chat is not shown that work goes on", "account", a.o.Account.ID(), "err", err)
	}
}

// TakesProgress is true: a reaction says that something is done, and a line what.
func (a *Adapter) TakesProgress() bool { return true }

func (a *Adapter) react(ctx context.Context, handle string) error {
	id := strings.TrimPrefix(handle, inThread)
	if id == "" || ctx.Err() != nil {
		return nil
	}
	at := "/open-apis/im/v1/messages/" + url.PathEscape(id) + "/reactions"
	var body reactionBody
	body.Type.Emoji = typing
	putting, cancel := context.WithTimeout(context.WithoutCancel(ctx), reactTime)
	defer cancel()
	put, err := post[reactionAnswer](putting, a.api, at, body)
	if err != nil {
		return fmt.Errorf("cannot react to a message: %w", err)
	}
	<-ctx.Done()
	taking, cancel := context.WithTimeout(context.WithoutCancel(ctx), reactTime)
	defer cancel()
	_, err = call[reactionAnswer](taking, a.api, func() (*http.Request, error) {
		return http.NewRequestWithContext(taking, http.MethodDelete, a.api.platform.Open+at+"/"+url.PathEscape(put.Data.ID), nil)
	})
	if err != nil {
		return fmt.Errorf("cannot take a reaction back: %w", err)
	}
	return nil
}

var _ channel.Typist = (*Adapter)(nil)
