package turn

import (
	"scv/daemon/channel"
	"scv/daemon/media"
	"scv/store"
)

// This file is what a turn has to do with the files that its agent wants sent.

// collect copies the files that go with an answer, before the answer is stored: once that is committed, they are
// ours to send, whatever becomes of the outbox. A turn that failed sends none.
func (e *Engine) collect(row store.ClaimRow, r reply) reply {
	if r.kind != channel.Reply && !r.mute || r.boxless || !e.hasFiles(row) {
		return r
	}
	chat := chatOf(row)
	files, dropped := e.o.Media.Collect(chat, clientID(row), e.most(row.Account))
	if len(files) > 0 && r.mute {
		r.kind, r.text = channel.Reply, ""
	}
	r.files = files
	if len(dropped) > 0 {
		r.text = paragraphs(r.text, media.Note(dropped, e.o.Media.Outbox(chat)))
	}
	return r
}

// most is the largest file of a kind that an account's platform takes. While its adapter does not run that is
// not known, and the platform itself will refuse.
func (e *Engine) most(account string) func(channel.FileKind) int64 {
	carrier, there := e.o.Carrier(account)
	if !there {
		return func(channel.FileKind) int64 { return media.MaxOutBytes }
	}
	return carrier.MaxUpload
}

// sent empties the outbox of what was collected, now that the answer is stored.
func (e *Engine) sent(row store.ClaimRow, r reply) {
	if len(r.files) == 0 {
		return
	}
	if err := e.o.Media.Sent(chatOf(row), r.files); err != nil {
		e.o.Log.Warn("what is sent stays in the outbox; the next turn puts it aside", "account", row.Account, "err", err)
	}
}

// uploads are the files of an answer as its record names them.
func uploads(files []media.Out) (records []store.Upload) {
	for _, f := range files {
		records = append(records, store.Upload{Kind: string(f.Kind), Name: f.Name, Size: f.Size})
	}
	return records
}
