package feishutest

import (
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// frame is pbbp2.Frame. Its numbers and the texts of its headers are required in proto2: they are written
// even when they are zero, and a frame without them is no frame.
type frame struct {
	SeqID, LogID    uint64
	Service, Method int32
	Headers         []header
	PayloadEncoding string
	PayloadType     string
	Payload         []byte
	LogIDNew        string
}

type header struct{ Key, Value string }

// The numbers of the fields.
const (
	fieldSeqID protowire.Number = iota + 1
	fieldLogID
	fieldService
	fieldMethod
	fieldHeaders
	fieldPayloadEncoding
	fieldPayloadType
	fieldPayload
	fieldLogIDNew
)

// The methods.
const (
	control int32 = 0
	data    int32 = 1
)

func (f *frame) header(key string) string {
	for _, h := range f.Headers {
		if h.Key == key {
			return h.Value
		}
	}
	return ""
}

func (f *frame) encode() []byte {
	b := number(nil, fieldSeqID, f.SeqID)
	b = number(b, fieldLogID, f.LogID)
	b = number(b, fieldService, uint64(int64(f.Service)))
	b = number(b, fieldMethod, uint64(int64(f.Method)))
	for _, h := range f.Headers {
		pair := text(text(nil, 1, h.Key), 2, h.Value)
		b = text(b, fieldHeaders, string(pair))
	}
	for i, value := range []string{f.PayloadEncoding, f.PayloadType, string(f.Payload), f.LogIDNew} {
		if value != "" {
			b = text(b, fieldPayloadEncoding+protowire.Number(i), value)
		}
	}
	return b
}

func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func text(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func decode(b []byte) (*frame, error) {
	f := &frame{}
	seen := map[protowire.Number]bool{}
	err := fields(b, func(field protowire.Number, n uint64, s []byte) error {
		seen[field] = true
		return f.set(field, n, s)
	})
	if err != nil {
		return nil, err
	}
	for field := fieldSeqID; field <= fieldMethod; field++ {
		if !seen[field] {
			return nil, fmt.Errorf("field %d of the frame is required and missing", field)
		}
	}
	return f, nil
}

func (f *frame) set(field protowire.Number, n uint64, s []byte) error {
	switch field {
	case fieldSeqID:
		f.SeqID = n
	case fieldLogID:
		f.LogID = n
	case fieldService:
		f.Service = int32(n)
	case fieldMethod:
		f.Method = int32(n)
	case fieldHeaders:
		h, err := decodeHeader(s)
		if err != nil {
			return err
		}
		f.Headers = append(f.Headers, h)
	case fieldPayloadEncoding:
		f.PayloadEncoding = string(s)
	case fieldPayloadType:
		f.PayloadType = string(s)
	case fieldPayload:
		f.Payload = append([]byte{}, s...)
	case fieldLogIDNew:
		f.LogIDNew = string(s)
	default:
		return errors.New("the frame has an unknown field " + strconv.Itoa(int(field)))
	}
	return nil
}

func decodeHeader(b []byte) (header, error) {
	var h header
	var key, value bool
	err := fields(b, func(field protowire.Number, _ uint64, s []byte) error {
		switch field {
		case 1:
			h.Key, key = string(s), true
		case 2:
			h.Value, value = string(s), true
		}
		return nil
	})
	if err == nil && !(key && value) {
		err = errors.New("a header needs a key and a value")
	}
	return h, err
}

// fields calls found with each field: its number, or its bytes.
func fields(b []byte, found func(field protowire.Number, n uint64, s []byte) error) error {
	for len(b) > 0 {
		field, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		var n uint64
		var s []byte
		switch kind {
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			s, size = protowire.ConsumeBytes(b)
		default:
			return fmt.Errorf("field %d has the wire type %d", field, kind)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		if err := found(field, n, s); err != nil {
			return err
		}
	}
	return nil
}
