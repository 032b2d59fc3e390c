package wechat

import (
	"context"

	"scv/internal/clock"
)

// Signs of typing.
const (
	typingOn  = 1
	typingOff = 2
)

type configBody struct {
	User   string   `json:"ilink_user_id"`
	Handle string   `json:"context_token,omitzero"`
	Base   baseInfo `json:"base_info"`
}

type configAnswer struct {
	Ticket string `json:"typing_ticket"`
}

// config asks what is set for a person's chat. It spends no token.
func (a *api) config(ctx context.Context, user, token string) (configAnswer, error) {
	return ask[configAnswer](ctx, a, "getconfig", configBody{user, token, thisClient})
}

type typingBody struct {
	User   string   `json:"ilink_user_id"`
	Ticket string   `json:"typing_ticket"`
	Status int      `json:"status"`
	Base   baseInfo `json:"base_info"`
}

func (a *api) showTyping(ctx context.Context, user, ticket string, status int) error {
	_, err := ask[struct{}](ctx, a, "sendtyping", typingBody{user, ticket, status, thisClient})
	return err
}

// TakesProgress is false: a line of progress would be one more message that stays, and the handle is the answer's.
func (a *Adapter) TakesProgress() bool { return false }

// Typing shows in a direct chat that the bot is writing, anew every few seconds, and at the end that it is not. The
// first thing that fails ends it: what failed concerns nobody, and whether the account works is told by its polls.
func (a *Adapter) Typing(ctx context.Context, chat, handle string) {
	if to, _ := readHandle(handle); to != "" {
		return // a group is shown nothing
	}
	got, err := a.api.config(ctx, chat, handle)
	if err != nil || got.Ticket == "" {
		return
	}
	for ctx.Err() == nil {
		if a.api.showTyping(ctx, chat, got.Ticket, typingOn) != nil && ctx.Err() == nil {
			return
		}
		clock.Pause(ctx, a.typing)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.hush)
	defer cancel()
	_ = a.api.showTyping(last, chat, got.Ticket, typingOff) // by itself it is shown for a few seconds only
}
