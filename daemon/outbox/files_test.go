package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/channel"
	"scv/daemon/media"
	"scv/store"
)

// withFiles is an answer with files of these contents, as a turn makes it.
func (w *world) withFiles(id, words string, contents ...string) store.Outbound {
	w.t.Helper()
	chat := media.Chat{Account: a, Conversation: "c"}
	must(w.t, w.media().Open(chat))
	for n, content := range contents {
		must(w.t, os.WriteFile(filepath.Join(w.media().Outbox(chat), fmt.Sprint(n, ".txt")), []byte(content), 0o600))
	}
	files, dropped := w.media().Collect(chat, id, func(channel.FileKind) int64 { return 1 << 20 })
	if len(files) != len(contents) {
		w.t.Fatalf("collected %+v, dropped %q", files, dropped)
	}
	must(w.t, w.media().Sent(chat, files))
	out := text(id, words)
	for _, f := range files {
		out.Files = append(out.Files, store.Upload{Kind: string(f.Kind), Name: f.Name, Size: f.Size})
	}
	return out
}

// copies reports whether an answer still has copies of files.
func (w *world) copies(id string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(w.path), "media", "sending", "local", "default", id))
	return err == nil
}

// seen is what the platform was handed: texts, and names of files with their contents.
func seen(handed []channel.Outgoing) (all []string) {
	for _, out := range handed {
		line := out.ClientID + " " + out.Text
		if out.File != nil {
			b, _ := os.ReadFile(out.File.Path)
			line += out.File.Name + "=" + string(b)
		}
		if out.Last {
			line += " last"
		}
		all = append(all, line)
	}
	return all
}

func (w *world) sees(p *platform, want ...string) {
	w.t.Helper()
	if got := seen(p.handed()); !slices.Equal(got, want) {
		w.t.Errorf("handed\n%q, want\n%q", got, want)
	}
}

// contents makes the platform read what it is handed while it is there.
func (w *world) reading(p *platform, answer func(context.Context, channel.Outgoing) (channel.Receipt, error)) *[]string {
	var lines []string
	p.become(func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
		lines = append(lines, seen([]channel.Outgoing{out})...)
		return answer(ctx, out)
	})
	return &lines
}

func (w *world) same(got []string, want ...string) {
	w.t.Helper()
	if !slices.Equal(got, want) {
		w.t.Errorf("handed\n%q, want\n%q", got, want)
	}
}

// Files come after the parts of the text, each as one more, and only the last of all is the last. Then the copies
// are gone.
func TestFilesFollowTheText(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.max, p.most = 4, 100
		got := w.reading(p, accept)
		w.queue(a, w.withFiles("r", "onetwo", "A", "B"), text("n", "next"))
		w.same(*got, "r-0 onet", "r-1 wo", "r-2 0.txt=A", "r-3 1.txt=B last", "n-0 next last")
		if w.copies("r") {
			t.Error("the copies are still there")
		}
	})
}

// Files alone are an answer. What was held rides in front of them, and they keep their ids.
func TestFilesAlone(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.most = 100
		got := w.reading(p, accept)
		w.queue(a, w.withFiles("r", "", "A"))
		w.same(*got, "r-1 0.txt=A last")
		p.become(refuse)
		w.queue(a, text("old", "held"))
		const carried = "-0 " + before + "held\n\n" + after
		got = w.reading(p, refuseText)
		w.queue(a, w.withFiles("r2", "", "B"))
		w.same(*got, "r2"+carried, "r2-1 0.txt=B last")
		if _, held := w.left(a); !slices.Equal(held, []string{"old"}) {
			t.Errorf("held %q", held)
		}
		got = w.reading(p, accept)
		w.queue(a, w.withFiles("r3", "", "C"))
		w.same(*got, "r3"+carried, "r3-1 0.txt=C last")
		if waiting, held := w.left(a); len(waiting)+len(held) != 0 {
			t.Errorf("waiting %q, held %q", waiting, held)
		}
	})
}

// One send of an answer is its first, whatever that is and whatever became of it: a platform may take no second one on
// the same handle, as WeChat does, which shows that to nobody.
func TestOneSendIsTheFirst(t *testing.T) {
	for name, answer := range map[string]func(context.Context, channel.Outgoing) (channel.Receipt, error){
		"taken": accept, "refused": refuseText,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				p := w.platforms[a]
				p.most = 100
				w.queue(a, w.withFiles("r", "", "A", "B"))
				p.become(refuse)
				w.queue(a, text("old", "held"))
				p.become(answer)
				w.queue(a, w.withFiles("r2", "", "C", "D"))
				var first []string
				for _, out := range p.handed() {
					if out.First {
						first = append(first, out.ClientID)
					}
				}
				w.same(first, "r-1", "old-0", "r2-0")
			})
		})
	}
}

func refuseText(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
	if out.File == nil {
		return refuse(ctx, out)
	}
	return accept(ctx, out)
}

// A refused text drops its files; the text is held as ever.
func TestRefusedTextDropsItsFiles(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.most = 100
		got := w.reading(p, refuse)
		w.queue(a, w.withFiles("r", "words", "A"))
		w.same(*got, "r-0 words")
		if waiting, held := w.left(a); len(waiting) != 0 || !slices.Equal(held, []string{"r"}) || w.copies("r") {
			t.Errorf("waiting %q, held %q, copies %v", waiting, held, w.copies("r"))
		}
		got = w.reading(p, accept)
		w.queue(a, text("n", "next"))
		w.same(*got, "n-0 "+before+"words\n\n"+after+"next last")
	})
}

// missing is what the chat reads of a part of an answer that was the n-th file and could not be sent.
func missing(id string, part, n int) string {
	return fmt.Sprintf("%s-%dn-0 The file %d.txt could not be sent to this chat. last", id, part, n)
}

// A refused file is passed over, wherever it stands, and the chat hears of it.
func TestRefusedFileIsPassedOver(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.most = 100
		for n, id := range []string{"first", "middle", "end"} {
			got := w.reading(p, func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
				if out.File != nil && out.File.Name == fmt.Sprint(n, ".txt") {
					return refuse(ctx, out)
				}
				return accept(ctx, out)
			})
			w.queue(a, w.withFiles(id, "words", "A", "B", "C"))
			w.same(*got, id+"-0 words", id+"-1 0.txt=A", id+"-2 1.txt=B", id+"-3 2.txt=C last", missing(id, n+1, n))
			if waiting, held := w.left(a); len(waiting)+len(held) != 0 || w.copies(id) {
				t.Errorf("%s: waiting %q, held %q, copies %v", id, waiting, held, w.copies(id))
			}
		}
	})
}

// A file that cannot be handed over now is tried again under the same id, also over a restart; a file has more
// time than a text.
func TestFileIsTriedAgain(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.most = 100
		p.become(func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
			if out.File != nil {
				return hang(ctx, out)
			}
			return accept(ctx, out)
		})
		w.queue(a, w.withFiles("r", "words", "A"))
		time.Sleep(fileTimeout + 2*time.Second)
		synctest.Wait()
		w.sees(p, "r-0 words", "r-1 0.txt=A last", "r-1 0.txt=A last")
		if took := p.times[2].Sub(p.times[1]); took != fileTimeout+firstDelay {
			t.Errorf("it was tried again after %v", took)
		}
		got := w.reading(p, accept)
		w.run()
		w.box.Wake()
		synctest.Wait()
		w.same(*got, "r-1 0.txt=A last")
		if w.copies("r") {
			t.Error("the copies are still there")
		}
	})
}

// A file that cannot be handed over for long keeps no other message back, and is sent once it can be.
func TestFileLetsTheOthersPass(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.most = 100
		got := w.reading(p, func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
			if out.File != nil {
				return channel.Receipt{}, errCut
			}
			return accept(ctx, out)
		})
		w.queue(a, w.withFiles("r", "words", "A", "B"), text("n", "next"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if seen := *got; len(seen) < 20 || !slices.Equal(seen[:5], []string{"r-0 words", "r-1 0.txt=A", "r-1 0.txt=A", "r-1 0.txt=A", "n-0 next last"}) {
			t.Errorf("handed over: %q", seen)
		}
		got = w.reading(p, accept)
		time.Sleep(maxDelay)
		synctest.Wait()
		w.same(*got, "r-1 0.txt=A", "r-2 1.txt=B last")
		if waiting, _ := w.left(a); len(waiting) != 0 || w.copies("r") {
			t.Errorf("waiting %q, copies %v", waiting, w.copies("r"))
		}
	})
}

// What a damaged record names, what is gone, what is too large and what nobody carries is never handed over.
func TestFileThatIsNoneOfOurs(t *testing.T) {
	for name, damage := range map[string]func(w *world, out *store.Outbound){
		"gone":       func(w *world, out *store.Outbound) { must(w.t, w.media().Done(a, out.ClientID)) },
		"other size": func(_ *world, out *store.Outbound) { out.Files[0].Size++ },
		"too large":  func(w *world, _ *store.Outbound) { w.platforms[a].most = 4 },
		"no carrier": func(w *world, _ *store.Outbound) { w.platforms[a].most = 0 },
		"elsewhere": func(w *world, out *store.Outbound) {
			out.ClientID = "../../../../" + filepath.Base(filepath.Dir(w.path))
			must(w.t, os.WriteFile(filepath.Join(filepath.Dir(w.path), "0"), []byte("secret"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				p := w.platforms[a]
				p.most = 100
				out := w.withFiles("r", "words", "five5")
				damage(w, &out)
				got := w.reading(p, accept)
				w.queue(a, out, text("n", "next"))
				w.same(*got, out.ClientID+"-0 words", "n-0 next last", missing(out.ClientID, 1, 0))
				if waiting, _ := w.left(a); len(waiting) != 0 {
					t.Errorf("waiting %q", waiting)
				}
			})
		})
	}
}

// The largest file at -1, 0 and +1.
func TestLargestFile(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.most = 5
		got := w.reading(p, accept)
		w.queue(a, w.withFiles("r", "", "four", "five5", "sixsix"))
		w.same(*got, "r-1 0.txt=four", "r-2 1.txt=five5", missing("r", 3, 2))
	})
}

var errCut = errors.New("cut")

// An answer whose last commit fails is finished later, with the same ids and the copies still there.
func TestCopiesOutliveAFailure(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.most = 100
		tries := 0
		got := w.reading(p, func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
			if tries++; tries < 4 {
				return channel.Receipt{}, errCut
			}
			return accept(ctx, out)
		})
		w.queue(a, w.withFiles("r", "", "A"))
		time.Sleep(time.Minute)
		synctest.Wait()
		w.same(*got, slices.Repeat([]string{"r-1 0.txt=A last"}, 4)...)
		if strings.Join(w.delivered(), " ") != a+" r-1" {
			t.Errorf("delivered %q", w.delivered())
		}
	})
}
