package store

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// shape says what the JSON of a Go type must contain. The JSON package takes a missing member or null
// for a zero value; in a store either is damage, and a zero pid or state must not come of it.
type shape struct {
	members  map[string]*shape // of an object; nil for any other value
	required []string          // the members that must be there
	element  *shape            // of an array
	free     bool              // anything goes: type any
}

var shapes sync.Map // reflect.Type → *shape

func shapeOf[T any]() *shape { return shapeOfType(reflect.TypeFor[T]()) }

func shapeOfType(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := makeShape(t)
	shapes.Store(t, s)
	return s
}

func makeShape(t reflect.Type) *shape {
	switch {
	case t.Kind() == reflect.Pointer:
		return shapeOfType(t.Elem())
	case t.Kind() == reflect.Interface:
		return &shape{free: true}
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return &shape{element: shapeOfType(t.Elem())}
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]():
		s := &shape{members: map[string]*shape{}}
		s.addFields(t)
		return s
	}
	return &shape{}
}

// addFields adds the members of a struct. Those that are always written have no options in their tag.
func (s *shape) addFields(t reflect.Type) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		s.members[name] = shapeOfType(field.Type)
		if options == "" {
			s.required = append(s.required, name)
		}
	}
}

// checkShape reads one value and holds it to s; place names it in errors.
func checkShape(dec *jsontext.Decoder, s *shape, place string) error {
	if s.free {
		return skip(dec)
	}
	switch kind := dec.PeekKind(); {
	case kind == 'n':
		return fmt.Errorf("its member %q is null", place)
	case kind == '{' && s.members != nil:
		return checkObject(dec, s, place)
	case kind == '[' && s.element != nil:
		return checkArray(dec, s, place)
	case s.members != nil || s.element != nil:
		if kind == 0 {
			return errNotJSON
		}
		return fmt.Errorf("its member %q has a wrong type", place)
	}
	return skip(dec)
}

func checkObject(dec *jsontext.Decoder, s *shape, place string) error {
	if _, err := dec.ReadToken(); err != nil {
		return errNotJSON
	}
	return checkMembers(dec, s, place)
}

// checkMembers reads an object from after its brace, or after some of its members, to its end.
func checkMembers(dec *jsontext.Decoder, s *shape, place string) error {
	found := make(map[string]bool, len(s.members))
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return errNotJSON
		}
		name := token.String()
		known := s.members[name]
		if known == nil {
			if err := skip(dec); err != nil {
				return err
			}
			continue
		}
		found[name] = true
		if err := checkShape(dec, known, place+"/"+name); err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return errNotJSON
	}
	for _, name := range s.required {
		if !found[name] {
			return fmt.Errorf("its member %q is missing", place+"/"+name)
		}
	}
	return nil
}

func checkArray(dec *jsontext.Decoder, s *shape, place string) error {
	if _, err := dec.ReadToken(); err != nil {
		return errNotJSON
	}
	for dec.PeekKind() != ']' {
		if dec.PeekKind() == 0 {
			return errNotJSON
		}
		if err := checkShape(dec, s.element, place); err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return errNotJSON
	}
	return nil
}

func skip(dec *jsontext.Decoder) error {
	if dec.SkipValue() != nil {
		return errNotJSON
	}
	return nil
}
