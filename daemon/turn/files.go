package turn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"scv/daemon/agent"
	"scv/daemon/channel"
	"scv/daemon/media"
	"scv/internal/clock"
	"scv/store"
)

// This file is what a turn has to do with the files that came with its message. Those that go with its answer
// are in outgoing.go.

const (
	fetchTime  = 180 * time.Second // of one file, each time
	fetchTries = 3
	fetchPause = time.Second // before the second try, and twice that before the third
)

func chatOf(row store.ClaimRow) media.Chat {
	return media.Chat{Account: row.Account, Conversation: row.Claim.Conversation}
}

// hasFiles reports whether files can come and go with a turn: a background delegation reports by text alone.
func (e *Engine) hasFiles(row store.ClaimRow) bool {
	return row.Claim.Job == nil && e.o.Carries(row.Account)
}

// equip completes a task with the files that came, and the folder for those that are to go with the answer. No
// file is worth a turn: what cannot be had is said in the prompt. It returns what it spent of the turn's time.
func (e *Engine) equip(ctx context.Context, row store.ClaimRow, task *agent.Task) (spent time.Duration) {
	if e.hasFiles(row) {
		e.openOutbox(row, task)
	}
	if len(row.Claim.Files) > 0 {
		began := e.o.Clock.Now()
		task.Prompt = paragraphs(task.Prompt, strings.Join(e.incoming(ctx, row, *task), "\n"))
		spent = e.o.Clock.Now().Since(began)
	}
	if task.Outbox != "" && task.Session == "" {
		task.Prompt = paragraphs(task.Prompt, "[Files that you put into "+task.Outbox+" ("+agent.OutboxVariable+
			") are sent to this chat with your answer.]")
	}
	return spent
}

func paragraphs(texts ...string) string { return strings.TrimSpace(strings.Join(texts, "\n\n")) }

// openOutbox gives the agent an empty outbox. What stands in it belongs to no answer that comes: it is put aside,
// also where the agent may not use it this time.
func (e *Engine) openOutbox(row store.ClaimRow, task *agent.Task) {
	chat := chatOf(row)
	aside, err := e.o.Media.SetAside(chat, e.o.Clock.Now().Wall)
	if err == nil && task.Tools {
		err = e.o.Media.Open(chat)
	}
	if err != nil {
		e.o.Log.Error("an agent gets no folder for files", "account", row.Account, "err", err)
		return
	}
	if !task.Tools {
		return
	}
	task.Received, task.Outbox = e.o.Media.Received(chat), e.o.Media.Outbox(chat)
	if aside != "" {
		task.Prompt = paragraphs(task.Prompt, "[What stood in "+agent.OutboxVariable+" before this message was not sent. It is in "+aside+" now.]")
	}
}

// incoming is a line for each file that came: where it is, or why it is not there.
func (e *Engine) incoming(ctx context.Context, row store.ClaimRow, task agent.Task) (lines []string) {
	files := make([]channel.File, 0, len(row.Claim.Files))
	for _, f := range row.Claim.Files {
		files = append(files, channel.File{Kind: channel.FileKind(f.Kind), Name: f.Name, Size: f.Size, Ref: f.Ref})
	}
	ctx, done := e.whileFetching(ctx, row)
	defer done()
	ctx, cancel := context.WithTimeout(ctx, e.limit(row))
	defer cancel()
	for n, name := range media.Names(files) {
		where, err := e.fetch(ctx, row, task, files[n], name)
		if err != nil {
			where = "not fetched: " + err.Error()
		}
		lines = append(lines, "["+title(files[n])+": "+where+"]")
	}
	return lines
}

// title is what a prompt calls a file.
func title(f channel.File) string {
	kind := map[channel.FileKind]string{channel.Image: "image", channel.Voice: "voice", channel.Video: "video"}[f.Kind]
	if kind == "" {
		kind = "file"
	}
	return strings.TrimSpace(kind + " " + media.SafeName(f.Name))
}

// allowance is how large a file may be that a turn fetches, or why it fetches none.
func allowance(owner bool, kind channel.FileKind, limits Limits) (bytes int64, err error) {
	switch {
	case limits.OwnerFile == 0:
		return 0, words("downloads are turned off")
	case owner:
		return limits.OwnerFile, nil
	case kind != channel.Image:
		return 0, words("of other people only pictures are")
	case limits.OthersImage == 0:
		return 0, words("pictures of other people are not")
	}
	return min(limits.OwnerFile, limits.OthersImage), nil
}

func tooLarge(limit int64) error { return words(fmt.Sprintf("larger than %d MiB", limit>>20)) }

// fetch gets one file. Its error is the end of a sentence for the agent.
func (e *Engine) fetch(ctx context.Context, row store.ClaimRow, task agent.Task, file channel.File, name string) (path string, err error) {
	limit, err := allowance(row.Claim.Owner, file.Kind, e.o.Limits())
	switch {
	case err != nil:
		return "", err
	case !agent.CanRead(task):
		return "", words("it cannot be read without tools")
	case file.Size > limit:
		return "", tooLarge(limit)
	case file.Ref == "":
		return "", words("the platform did not say where it is")
	}
	for try := 1; ; try++ {
		path, err = e.fetchOnce(ctx, row, file, name, limit)
		switch {
		case err == nil:
			return path, nil
		case errors.Is(err, channel.ErrTooLarge):
			return "", tooLarge(limit)
		case errors.Is(err, channel.ErrRefused):
			return "", words("the platform does not give it any more")
		case ctx.Err() != nil:
			return "", words("the time for this turn was up")
		}
		e.o.Log.Warn("cannot fetch a file", "account", row.Account, "try", try, "err", err)
		if try == fetchTries {
			return "", words("the platform could not be reached, or the disk is full")
		}
		clock.Pause(ctx, time.Duration(try)*fetchPause)
	}
}

var errAway = errors.New("its account is not running")

func (e *Engine) fetchOnce(ctx context.Context, row store.ClaimRow, file channel.File, name string, limit int64) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	return e.o.Media.Keep(chatOf(row), row.Claim.MessageID, name, limit, func(w io.Writer) error {
		carrier, there := e.o.Carrier(row.Account)
		if !there {
			return errAway
		}
		return carrier.Fetch(ctx, file, w, limit)
	})
}
