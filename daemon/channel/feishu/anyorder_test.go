package feishu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"scv/daemon/channel/feishu/feishutest"
)

// conversation is where a test writes: a chat, or the thread below a message of it.
type conversation struct{ chat, root string }

// Whatever fails, whenever, and in whichever order: each message is taken, and those of a conversation in their order.
// What is written is hours apart, so that nothing is found again only because the checkpoint is not trusted to the
// minute.
func TestNothingIsLost(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, feishutest.Options{Repush: slices.Repeat([]time.Duration{50 * time.Millisecond}, 40)})
			s := &story{world: w, r: rand.New(rand.NewPCG(seed, 1)), at: time.Now().Add(-lookBack + time.Hour), wrote: map[conversation][]string{}}
			for _, chat := range []string{w.chat, w.p.Group(w.app.ID), w.p.Group(w.app.ID)} {
				s.places = append(s.places, conversation{chat: chat})
			}
			s.turnOn()
			w.Connected()
			for _, c := range s.places {
				s.write(c)
			}
			w.Await(s.n) // what is not known cannot be caught up on
			for range 200 {
				s.step()
			}
			s.settle()
			w.Stop()
			for c, want := range s.wrote {
				got := slices.DeleteFunc(w.Texts(), func(text string) bool { return !slices.Contains(want, text) })
				if !slices.Equal(got, want) {
					t.Errorf("of %+v\ngot  %q\nwant %q", c, got, want)
				}
			}
		})
	}
}

// story is what happens to an account.
type story struct {
	*world
	r      *rand.Rand
	on     bool
	at     time.Time // of the latest message
	places []conversation
	wrote  map[conversation][]string
	n      int
}

const mostPlaces = 40 // with the chats: all of them are looked at

// turnOn runs attempts one after the other, as the daemon does, until the world stops.
func (s *story) turnOn() {
	s.on = true
	s.Begin(func(ctx context.Context) error {
		for ctx.Err() == nil {
			o := optionsFor(s.p, s.app, s.Host())
			o.Log = s.Log()
			a := New(o)
			a.rhythm = rhythm{unit: time.Millisecond, slack: limit}
			_ = a.Serve(ctx) // it fails as the story wants it
		}
		return nil
	})
}

// write says something for the bot, and at times makes it the beginning of a thread.
func (s *story) write(c conversation, more ...feishutest.Option) {
	s.n++
	s.at = s.at.Add(3 * time.Minute)
	text := fmt.Sprint("m", s.n)
	opts := append(more, feishutest.At(s.at), feishutest.Mention(s.app.BotID))
	if c.root != "" {
		opts = append(opts, feishutest.InThread(c.root))
	}
	id := s.p.Say(c.chat, s.app.Owner, text, opts...)
	s.wrote[c] = append(s.wrote[c], text)
	if c.root == "" && len(s.places) < mostPlaces && s.r.IntN(3) == 0 {
		s.places = append(s.places, conversation{c.chat, id})
	}
}

// settle ends all faults and waits until what was written is taken.
func (s *story) settle() {
	s.p.Heal()
	s.Fill(false)
	if !s.on {
		s.turnOn()
	}
	s.Await(s.n)
}

func (s *story) step() {
	place := s.places[s.r.IntN(len(s.places))]
	again := 1 + s.r.IntN(4)
	switch s.r.IntN(20) {
	case 0, 1:
		s.p.Kick(s.app.ID)
	case 2, 3:
		if s.on {
			s.Stop()
			s.on = false
		} else {
			s.turnOn()
		}
	case 4:
		s.Fill(s.r.IntN(2) == 0)
	case 5:
		s.p.Inject(feishutest.Fault{Route: feishutest.List, Status: 400, Code: 99991400, Skip: s.r.IntN(9), Times: again})
	case 6:
		s.p.Inject(feishutest.Fault{Route: feishutest.List, Cut: true, Skip: s.r.IntN(9), Times: again})
	case 7:
		s.p.Inject(feishutest.Fault{Route: feishutest.Push, Parts: again, Shred: true, Copies: s.r.IntN(3), Kill: s.r.IntN(3) == 0})
	case 8:
		s.p.Inject(feishutest.Fault{Route: feishutest.Token, Status: 503})
		s.p.ExpireTokens()
	case 9:
		s.p.Say(place.chat, "ou_x", "not for the bot", feishutest.At(s.at), feishutest.FromApp())
	case 10:
		s.settle()
	default:
		s.write(place)
	}
}
