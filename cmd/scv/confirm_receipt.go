package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"scv/wire"
	"scv/wire/bus"
)

// receiptRoom finds out, before anybody is asked, whether a receipt can be kept under this name. One
// that is there already is evidence of something else, and is never replaced.
func receiptRoom(given *string) error {
	if given == nil {
		return nil
	}
	name := *given
	if name == "" { // as from a variable that is not set
		return failf(exitOther, "try: scv confirm --receipt deployed.json \"Deploy?\"", "the name of the receipt is empty")
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return failf(exitOther, "name another file, such as one with the date in it", "cannot write the receipt: %w",
			existsOr(name, err))
	}
	probe, err := newReceiptFile(name)
	if err != nil {
		return failf(exitOther, "name a file in a folder that you can write to", "%w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func existsOr(name string, err error) error {
	if err == nil {
		return fmt.Errorf("%q exists already", name)
	}
	return err
}

// newReceiptFile makes the file, for this user alone, under a name that is not the receipt's yet.
func newReceiptFile(name string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".scv-receipt-*") // with mode 0600
	if err != nil {
		return nil, fmt.Errorf("cannot write the receipt: %w", err)
	}
	return f, nil
}

// keepReceipt writes what the daemon knows of an answered question to a file, whole or not at all, and
// returns once it is on the disk.
func (a *app) keepReceipt(name, id string) error {
	var detail wire.ConfirmDetail
	err := a.aftermath(func(ctx context.Context, client *bus.Client) (err error) {
		detail, err = client.ConfirmShow(ctx, id)
		return err
	})
	if err != nil {
		return err
	}
	if detail.Confirm.ID != id || detail.Receipt == nil {
		return fmt.Errorf("the daemon has no receipt of question %q", id)
	}
	text, err := wire.Encode(detail)
	if err != nil {
		return fmt.Errorf("cannot write the receipt: %w", err)
	}
	f, err := newReceiptFile(name)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after its last name was given it, or where it came to nothing
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = putInPlace(f.Name(), name)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(name))
	}
	if err != nil {
		return fmt.Errorf("cannot write the receipt: %w", err)
	}
	return nil
}

// putInPlace gives a file its name, if nothing has it: unlike a rename, a link replaces nothing. Some file
// systems have no links.
func putInPlace(from, to string) error {
	err := os.Link(from, to)
	if !errors.Is(err, syscall.EPERM) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return existsOr(to, err)
	}
	return os.Rename(from, to)
}

func syncFolder(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (a *app) showQuestion(id string) (detail wire.ConfirmDetail, err error) {
	err = a.call(readLimit, func(ctx context.Context, client *bus.Client) (err error) {
		detail, err = client.ConfirmShow(ctx, id)
		return err
	})
	return detail, err
}
