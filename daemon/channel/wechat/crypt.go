package wechat

import (
	"bufio"
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
	in, buf, kept := bufio.NewReaderSize(r, chunk), make([]byte, chunk), []byte(nil)
	for written := int64(0); ; {
		n, err := io.ReadFull(in, buf)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && n < len(buf)
		switch {
		case err != nil && !ended:
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

// copyAtMost is unseal for a file that is not encrypted.
func copyAtMost(w io.Writer, r io.Reader, limit int64) error {
	n, err := io.Copy(w, io.LimitReader(r, limit))
	if err != nil || n < limit {
		return err
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return channel.ErrTooLarge
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
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
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

func (s *sealer) fill() error {
	n, err := io.ReadFull(s.from, s.buf[:chunk])
	s.ready = s.buf[:n]
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		s.ended = true
		pad := block - n%block
		s.ready = append(s.ready, bytes.Repeat([]byte{byte(pad)}, pad)...)
	case err != nil:
		return err
	}
	each(s.c.Encrypt, s.ready)
	return nil
}
