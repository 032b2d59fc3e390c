package wire

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Message is satisfied by the pointer to every message type of this package.
type Message[T any] interface {
	*T
	fields() []field
}

// Decode reads one message, strictly. Its error names a field and what is wrong, never a value.
func Decode[T any, P Message[T]](data []byte) (T, error) {
	return decode(data, readObject[T, P])
}

// DecodeRequest is Decode for a daemon: what it cannot read is a refusal with the code InvalidJSON.
func DecodeRequest[T any, P Message[T]](data []byte) (T, error) {
	v, err := Decode[T, P](data)
	if err != nil {
		return v, Refuse(InvalidJSON, "not a valid request: %v", err)
	}
	return v, nil
}

// DecodeCommand reads the request of daemon.control; an error is a refusal with the code InvalidJSON.
// An unknown action is one too: by that a client detects an older daemon.
func DecodeCommand(data []byte) (Command, error) {
	c, err := decodeCommand(data)
	if err != nil {
		return nil, Refuse(InvalidJSON, "not a valid command: %v", err)
	}
	return c, nil
}

// header is what tells the commands apart. The seed lets the action stand anywhere in the object, so
// a command is read twice.
type header struct{ action string }

func (h *header) fields() []field {
	return []field{required("action", &h.action, readText)}
}

func decodeCommand(data []byte) (Command, error) {
	h, err := decode(data, readObject[header])
	if err != nil {
		return nil, err
	}
	switch h.action {
	case "status":
		return asCommand[StatusCommand](data)
	case "reload":
		return asCommand[ReloadCommand](data)
	case "channel_set":
		return asCommand[ChannelSetCommand](data)
	case "channel_logout":
		return asCommand[ChannelLogoutCommand](data)
	case "delegations":
		return asCommand[DelegationsCommand](data)
	case "delegation_kill":
		return asCommand[DelegationKillCommand](data)
	case "restart_when_idle":
		return asCommand[RestartWhenIdleCommand](data)
	case "confirm_ask":
		return asCommand[ConfirmAskCommand](data)
	case "confirm_status":
		return asCommand[ConfirmStatusCommand](data)
	}
	return nil, errors.New("unknown action (is the daemon older than the scv command?)")
}

func asCommand[T Command, P Message[T]](data []byte) (Command, error) {
	return decode(data, func(r *reader) (Command, error) { return readObject[T, P](r) })
}

// Encode writes what a daemon says: a reply or an event. A string that is not UTF-8, such as a folder
// with a strange name, is shown with U+FFFD in it: one of them must not silence a whole status.
func Encode(v any) ([]byte, error) { return encode(v, jsontext.AllowInvalidUTF8(true)) }

// EncodeRequest writes what a hand asks. A string that is not UTF-8 is an error: asking for another
// folder than the person named would be worse than not asking.
func EncodeRequest(v any) ([]byte, error) {
	if c, ok := v.(Command); ok {
		return EncodeCommand(c)
	}
	return encode(v)
}

// EncodeCommand writes a command, its action first.
func EncodeCommand(c Command) ([]byte, error) {
	if c == nil {
		return nil, errors.New("cannot encode a nil command")
	}
	body, err := encode(c)
	if err != nil {
		return nil, err
	}
	head := `{"action":"` + c.Action() + `"`
	if len(body) > len("{}") {
		head += ","
	}
	return append([]byte(head), body[1:]...), nil
}

func encode(v any, opts ...json.Options) ([]byte, error) {
	b, err := json.Marshal(v, opts...)
	if err != nil {
		return nil, errors.New("the request has text that is not UTF-8, so it was not sent")
	}
	return b, nil
}
