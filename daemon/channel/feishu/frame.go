package feishu

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// frame is the pbbp2.Frame of the long connection. Fields 1 to 4 and both halves of a header are required
// by the platform's decoder, so they are written where they are zero, too.
type frame struct {
	seq, log     uint64 // 1, 2
	service      int32  // 3
	method       int32  // 4: control or data
	headers      []header
	encoding     string // 6
	kind         string // 7: of the payload
	payload      []byte // 8
	logID        string // 9
	hasPayload   bool
	unknownBytes []byte // fields of a later version, which an acknowledgement gives back
}

// The methods.
const (
	control int32 = 0
	data    int32 = 1
)

type header struct{ key, value string } // 1, 2

func (f *frame) get(key string) string {
	for _, h := range f.headers {
		if h.key == key {
			return h.value
		}
	}
	return ""
}

func (f *frame) encode() []byte {
	varint := func(b []byte, field protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
	}
	text := func(b []byte, field protowire.Number, v string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
	}
	b := varint(nil, 1, f.seq)
	b = varint(b, 2, f.log)
	b = varint(b, 3, uint64(int64(f.service)))
	b = varint(b, 4, uint64(int64(f.method)))
	for _, h := range f.headers {
		inner := text(text(nil, 1, h.key), 2, h.value)
		b = protowire.AppendBytes(protowire.AppendTag(b, 5, protowire.BytesType), inner)
	}
	if f.encoding != "" {
		b = text(b, 6, f.encoding)
	}
	if f.kind != "" {
		b = text(b, 7, f.kind)
	}
	if f.hasPayload {
		b = protowire.AppendBytes(protowire.AppendTag(b, 8, protowire.BytesType), f.payload)
	}
	if f.logID != "" {
		b = text(b, 9, f.logID)
	}
	return append(b, f.unknownBytes...)
}

var errFrame = errors.New("a frame cannot be read")

const required = 1<<1 | 1<<2 | 1<<3 | 1<<4 // fields

// decodeFrame reads a frame. The payload is part of b.
func decodeFrame(b []byte) (f frame, err error) {
	seen := 0
	err = fields(b, func(n protowire.Number, v value, raw []byte) error {
		switch n {
		case 1:
			f.seq = v.varint
		case 2:
			f.log = v.varint
		case 3:
			f.service = int32(v.varint)
		case 4:
			f.method = int32(v.varint)
		case 5:
			h, err := decodeHeader(v.bytes)
			f.headers = append(f.headers, h)
			return err
		case 6:
			f.encoding = string(v.bytes)
		case 7:
			f.kind = string(v.bytes)
		case 8:
			f.payload, f.hasPayload = v.bytes, true
		case 9:
			f.logID = string(v.bytes)
		default:
			f.unknownBytes = append(f.unknownBytes, raw...)
			return nil
		}
		if isVarint := n <= 4; isVarint == (v.kind == protowire.VarintType) {
			seen |= 1 << n
			return nil
		}
		return errFrame
	})
	if err == nil && seen&required != required {
		return frame{}, errFrame
	}
	return f, err
}

func decodeHeader(b []byte) (h header, err error) {
	err = fields(b, func(n protowire.Number, v value, _ []byte) error {
		switch n {
		case 1:
			h.key = string(v.bytes)
		case 2:
			h.value = string(v.bytes)
		}
		return nil
	})
	return h, err
}

// value is one field's, as its wire type has it.
type value struct {
	kind   protowire.Type
	varint uint64
	bytes  []byte
}

// fields calls take for each field of b, raw being all of it.
func fields(b []byte, take func(n protowire.Number, v value, raw []byte) error) error {
	for len(b) > 0 {
		n, kind, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return errFrame
		}
		v, size := value{kind: kind}, 0
		switch kind {
		case protowire.VarintType:
			v.varint, size = protowire.ConsumeVarint(b[tag:])
		case protowire.BytesType:
			v.bytes, size = protowire.ConsumeBytes(b[tag:])
		default:
			size = protowire.ConsumeFieldValue(n, kind, b[tag:])
		}
		if size < 0 {
			return errFrame
		}
		if err := take(n, v, b[:tag+size]); err != nil {
			return err
		}
		b = b[tag+size:]
	}
	return nil
}
