package inbox

import (
	"fmt"
	"testing"

	"scv/daemon/channel"
)

// Whatever strangers write meanwhile, a message of the owner that comes again is known.
func TestStrangersCannotMakeItNew(t *testing.T) {
	w := newWorld(t)
	w.receive(from("owner", "mine"))
	const many = 8192 + 2048 // more than are kept
	var flood []channel.Message
	for i := range many {
		flood = append(flood, from("stranger", fmt.Sprint("s", i)))
	}
	w.receive(flood...)
	w.receive(from("owner", "mine"))
	if claims := w.claims(); len(claims) != 1 {
		t.Errorf("%d claims of one message", len(claims))
	}
}
