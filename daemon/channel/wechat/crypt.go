package wechat

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"io"

	"scv/daemon/channel"
)

// Files are encrypted with AES-128, each block by itself, and padded as PKCS#7 says. That is the platform's
// choice: it hides a file from whoever keeps it and proves nothing of where it came from.

const (
	keySize   = 16 // bytes
	block     = aes.BlockSize
	chunk     = 32 << 10 // a multiple of block
	maxPadded = block
)

var (
	errKey     = errors.New("its key is not one")
	errPadding = errors.New("it was not encrypted as its message says")
)

// sealedSize is how large a file of n bytes is when it is encrypted.
func sealedSize(n int64) int64 { return n/block*block + block }

// unseal decrypts what it reads, of which at most limit bytes are written. The last block stays back until it is
// known to be the last: only there is padding.
func unseal(w io.Writer, r io.Reader, key []byte, limit int64) error {
	c, err := aes.NewCipher(key)
	if err != nil {
		return errKey
	}
	buf, kept := make([]byte, chunk), []byte(nil)
	for written := int64(0); ; {
		n, ended, err := fill(r, buf)
		switch {
		case err != nil:
			return err
		case n%block != 0:
			return errPadding
		}
		each(c.Decrypt, buf[:n])
		plain := append(kept, buf[:n]...)
		if ended {
			if plain, err = unpad(plain); err != nil {
				return err
			}
			return writeAtMost(w, plain, limit-written)
		}
		kept = bytes.Clone(plain[len(plain)-block:])
		if err := writeAtMost(w, plain[:len(plain)-block], limit-written); err != nil {
			return err
		}
		written += int64(len(plain) - block)
	}
}

// fill reads until buf is full or r has ended. io.ReadFull would make an end of it what a lost connection is as well.
func fill(r io.Reader, buf []byte) (n int, ended bool, err error) {
	for n < len(buf) {
		m, err := r.Read(buf[n:])
		n += m
		switch {
		case err == io.EOF:
			return n, true, nil
		case err != nil:
			return n, false, err
		}
	}
	return n, false, nil
}

func each(do func(dst, src []byte), text []byte) {
	for at := 0; at < len(text); at += block {
		do(text[at:at+block], text[at:at+block])
	}
}

// unpad takes the padding away, every byte of which must be as it should.
func unpad(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return nil, errPadding
	}
	n := int(text[len(text)-1])
	if n < 1 || n > block || n > len(text) || !bytes.Equal(text[len(text)-n:], bytes.Repeat([]byte{byte(n)}, n)) {
		return nil, errPadding
	}
	return text[:len(text)-n], nil
}

func writeAtMost(w io.Writer, text []byte, room int64) error {
	if int64(len(text)) > room {
		return channel.ErrTooLarge
	}
	_, err := w.Write(text)
	return err
}

// sealer reads what another reads, encrypted.
type sealer struct {
	from  io.Reader
	c     cipher.Block
	buf   []byte // room for a chunk and its padding
	ready []byte // of buf
	ended bool
}

func newSealer(from io.Reader, key []byte) (*sealer, error) {
	c, err := aes.NewCipher(key)
	if err != nil {
		return nil, errKey
	}
	return &sealer{from: from, c: c, buf: make([]byte, chunk, chunk+maxPadded)}, nil
}

func (s *sealer) Read(p []byte) (int, error) {
	for len(s.ready) == 0 {
		if s.ended {
			return 0, io.EOF
		}
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

func (s *sealer) next() error {
	n, ended, err := fill(s.from, s.buf[:chunk])
	if err != nil {
		return err
	}
	s.ready, s.ended = s.buf[:n], ended
	if ended {
		pad := block - n%block
		s.ready = append(s.ready, bytes.Repeat([]byte{byte(pad)}, pad)...)
	}
	each(s.c.Encrypt, s.ready)
	return nil
}
