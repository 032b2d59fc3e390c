package wire

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestErrorsQuoteNothing: what was sent may hold a secret or a private text.
func TestErrorsQuoteNothing(t *testing.T) {
	const secret = "hunter2"
	for _, data := range []string{
		`{"action":"` + secret + `"}`,
		`{"action":"status","` + secret + `":1,"` + secret + `":2}`,
		`{"action":"status","x":` + secret + `}`,
		`{"action":"channel_set","channel":"a","account":"b","enabled":"` + secret + `"}`,
		`{"action":"channel_set","channel":"a","account":"b","enabled":true,"senders":"` + secret + `"}`,
		`{"action":"confirm_ask","question":["` + secret + `"]}`,
		`{"action":"confirm_ask","question":"` + secret + "\xff" + `"}`,
		`{"action":"confirm_ask","question":"","timeout_seconds":"` + secret + `"}`,
		`{"action":"status"} ` + secret,
		secret,
	} {
		_, err := DecodeCommand([]byte(data))
		var refused *Error
		if !errors.As(err, &refused) || refused.Code != InvalidJSON {
			t.Errorf("%s: %v, want a refusal with the code %s", data, err, InvalidJSON)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("the error quotes what was sent: %v", err)
		}
	}
}

func TestErrorsNameTheField(t *testing.T) {
	for data, want := range map[string]string{
		`{}`: `field "version" is missing`,
		`{"version":"1","pid":4294967296,"components":[]}`:                             `field "pid": must be a whole number from 0 to 2^32-1`,
		`{"version":"1","pid":1,"components":[],"restart":{"to_version":null}}`:        `field "restart": field "to_version": must be a string`,
		`{"version":"1","pid":1,"components":[{"id":"a","account":"b","state":"up"}]}`: `field "components": item 1: field "state": must be one of ["disabled" "starting" "connected" "disconnected" "backoff" "stopping" "stopped" "failed"]`,
		`{"version":"1"`: "the JSON ends too early",
	} {
		if _, err := Decode[DaemonStatus]([]byte(data)); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", data, err, want)
		}
	}
}

func TestDecodeRequestRefuses(t *testing.T) {
	_, err := DecodeRequest[ChatSend]([]byte(`{"account":"default"}`))
	var refused *Error
	if !errors.As(err, &refused) || *refused != (Error{InvalidJSON, `not a valid request: field "id" is missing`}) {
		t.Errorf("got %v", err)
	}
	if got, err := DecodeRequest[ConfirmID]([]byte(`{"id":"x"}`)); err != nil || got.ID != "x" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestStrangeText: a reply shows a folder whose name is not UTF-8, a request never names another one.
func TestStrangeText(t *testing.T) {
	strange := "/srv/\xff"
	got, err := Encode(DelegationInfo{Cwd: strange})
	if err != nil || !strings.Contains(string(got), `"cwd":"/srv/`+"\uFFFD"+`"`) {
		t.Errorf("a reply: %s, %v", got, err)
	}
	for _, request := range []any{AccountSet{Workspace: &strange}, ChannelSetCommand{Workspace: &strange}} {
		if got, err := EncodeRequest(request); err == nil || strings.Contains(err.Error(), "wire.") { // a person reads it
			t.Errorf("a request was sent as %s, %v", got, err)
		}
	}
	if _, err := EncodeCommand(nil); err == nil {
		t.Error("a nil command was encoded")
	}
}

func TestNothingIsEscapedForHTML(t *testing.T) {
	got, err := EncodeRequest(&ConfirmAskCommand{Question: "<b>&\u2028"})
	if want := `{"action":"confirm_ask","question":"<b>&` + "\u2028" + `"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestAbsentListsAreLists(t *testing.T) {
	got, err := Encode(DaemonStatus{Version: "1"})
	if want := `{"version":"1","pid":0,"components":[],"delegations":{"active":0,"reaped":0}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestFieldsMatchTheTypes finds a field of a struct that its decoder forgot, or reads under another name.
func TestFieldsMatchTheTypes(t *testing.T) {
	for _, m := range []interface{ fields() []field }{
		&StatusCommand{}, &ReloadCommand{}, &ChannelSetCommand{}, &ChannelLogoutCommand{}, &DelegationsCommand{},
		&DelegationKillCommand{}, &RestartWhenIdleCommand{}, &ConfirmAskCommand{}, &ConfirmStatusCommand{},
		&ComponentHealth{}, &DaemonStatus{}, &RestartInfo{}, &DelegationSummary{}, &DelegationInfo{},
		&ConfirmInfo{}, &ConfirmReceipt{}, &ConfirmDetail{}, &ConfirmID{}, &ConfirmListRequest{}, &ConfirmList{},
		&AccountSet{}, &AccountSettings{}, &ChatSend{}, &ChatSent{}, &ChatAttach{}, &ChatAttached{}, &ChatLine{},
		&StoreSnapshotRequest{}, &StoreSnapshot{},
		&DelegationStart{}, &DelegationTicket{}, &DelegationRegister{}, &DelegationLease{}, &DelegationUpdate{},
		&DelegationHandle{}, &DelegationReport{}, &DelegationEvidence{}, &ProcessTied{}, &RestartExplain{}, &RestartDetail{},
	} {
		shape, fields := reflect.TypeOf(m).Elem(), m.fields()
		if shape.NumField() != len(fields) {
			t.Errorf("%v has %d fields, and %d are read", shape, shape.NumField(), len(fields))
			continue
		}
		for i, f := range fields {
			name, options, _ := strings.Cut(shape.Field(i).Tag.Get("json"), ",")
			if name != f.name {
				t.Errorf("%v: field %q is read as %q", shape, name, f.name)
			}
			if f.must && options != "" {
				t.Errorf("%v: field %q is required and may be left out", shape, name)
			}
		}
	}
}

// TestEveryMessageIsInTheTable reads the source, so that a new type cannot go without vectors.
func TestEveryMessageIsInTheTable(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Name.Name != "fields" {
				continue
			}
			name := f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name
			if name == "header" || strings.HasSuffix(name, "Command") {
				continue // one table entry for all commands
			}
			found++
			if messages[name] == nil {
				t.Errorf("%s is not in the table of messages", name)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d messages found", found)
	}
}
