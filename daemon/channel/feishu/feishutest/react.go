package feishutest

import (
	"slices"
)

// Reaction is an emoji that a bot put on a message.
type Reaction struct {
	App, ID, MessageID, Emoji string
	Removed                   bool
}

func (p *Platform) react(c *call) answer {
	var asked struct {
		ReactionType struct {
			EmojiType string `json:"emoji_type"`
		} `json:"reaction_type"`
	}
	err := c.json(&asked)
	m := p.message(c.PathValue("id"))
	if err != nil || m == nil || asked.ReactionType.EmojiType == "" {
		return *invalid("message_id or reaction_type")
	}
	r := Reaction{App: c.app.ID, ID: p.newID("reaction"), MessageID: m.id, Emoji: asked.ReactionType.EmojiType}
	p.reacted = append(p.reacted, r)
	return ok(p.reactionItem(r))
}

func (p *Platform) unreact(c *call) answer {
	i := slices.IndexFunc(p.reacted, func(r Reaction) bool {
		return r.App == c.app.ID && r.ID == c.PathValue("reaction") && r.MessageID == c.PathValue("id") && !r.Removed
	})
	if i < 0 {
		return *invalid("reaction_id")
	}
	p.reacted[i].Removed = true
	return ok(p.reactionItem(p.reacted[i]))
}

func (p *Platform) reactionItem(r Reaction) object {
	return object{
		"reaction_id": r.ID, "action_time": millis(p.Now()), "reaction_type": object{"emoji_type": r.Emoji},
		"operator": object{"operator_id": r.App, "operator_type": "app"},
	}
}

// Reactions are those that bots made, with the ones they took back.
func (p *Platform) Reactions() []Reaction {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.reacted)
}
