package outbox

import (
	"context"
	"errors"
	"fmt"

	"scv/daemon/channel"
	"scv/store"
)

// This file is about the parts of a message that are files.

// attach completes a parcel with its file. What cannot be sent is refused: no platform, and no repair, will make
// a file of ours out of what is none.
func (b *Outbox) attach(adapter channel.Adapter, row store.OutboundRow, p *parcel) error {
	carrier, carries := adapter.(channel.Carrier)
	if !carries {
		return fmt.Errorf("%w: it carries no files", channel.ErrRefused)
	}
	kind := channel.FileKind(p.file.Kind)
	if most := carrier.MaxUpload(kind); p.file.Size > most {
		return fmt.Errorf("%w: it takes %d bytes at most", channel.ErrRefused, most)
	}
	path, err := b.o.Media.Copy(row.Account, row.Outbound.ClientID, p.number, p.file.Size)
	if err != nil {
		return fmt.Errorf("%w: there is no such copy of ours: %w", channel.ErrRefused, err)
	}
	p.out.File = &channel.Upload{Path: path, Name: p.file.Name, Kind: kind, Size: p.file.Size}
	return nil
}

// errFile is what came of a file for now. It may go on for long where all else gets through: a platform keeps files
// elsewhere.
var errFile = errors.New("the file is not sent yet")

// behind puts what is left of a message, whose next part is a file, behind those of its account.
func (b *Outbox) behind(ctx context.Context, row store.OutboundRow) error {
	return b.o.Store.Deliver(ctx, func(tx *store.Delivery) error {
		if err := tx.DeleteOutbound(row.Account, row.Seq); err != nil {
			return err
		}
		_, err := tx.AddOutbound(row.Account, row.Outbound)
		return err
	})
}

// passed goes on with what comes after a file that is not sent. The chat is told: the answer may speak of it, or be
// nothing else.
func (b *Outbox) passed(ctx context.Context, row store.OutboundRow, p parcel) error {
	err := b.o.Store.Deliver(ctx, func(tx *store.Delivery) error {
		if _, err := tx.AddOutbound(row.Account, notSent(row, p)); err != nil {
			return err
		}
		return next(tx, row, p)
	})
	if err == nil && p.out.Last {
		b.forgetFiles(row)
	}
	return err
}

func notSent(row store.OutboundRow, p parcel) store.Outbound {
	return store.Outbound{
		Kind: string(channel.Notice), Chat: row.Outbound.Chat, Text: "The file " + p.file.Name + " could not be sent to this chat.",
		ClientID: p.out.ClientID + "n", Transient: true, Queued: row.Outbound.Queued,
	}
}

// forgetFiles removes the copies that went with a message, once the commit that ends it is made. What a crash
// leaves of them, the next start removes.
func (b *Outbox) forgetFiles(row store.OutboundRow) {
	if len(row.Outbound.Files) == 0 {
		return
	}
	if err := b.o.Media.Done(row.Account, row.Outbound.ClientID); err != nil {
		b.o.Log.Warn("copies of files are removed by the next start", "account", row.Account, "err", err)
	}
}
