package transport_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"scv/daemon/transport"
	"scv/wire"
	"scv/wire/bus"
)

// subjectConstants reads the constants Subject… from the source, so that a new one is not forgotten.
func subjectConstants(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../wire/subjects.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var subjects []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(spec.Names[0].Name, "Subject") {
			subject, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			subjects = append(subjects, subject)
		}
		return true
	})
	return subjects
}

func TestEverySubjectIsCarried(t *testing.T) {
	subjects := subjectConstants(t)
	if len(subjects) < 8 || !slices.Equal(subjects, wire.RequestSubjects()) {
		t.Fatalf("wire.RequestSubjects is %q, and its constants are %q", wire.RequestSubjects(), subjects)
	}
	var endpoints []bus.Endpoint
	for i, subject := range subjects {
		echo := func(_ context.Context, r bus.Request) ([]byte, error) { return []byte(r.Subject + " " + r.Peer), nil }
		endpoints = append(endpoints, bus.Endpoint{Name: "e" + strconv.Itoa(i), Subject: subject, Handle: echo})
	}
	h := open(t, transport.Options{}, endpoints)
	r := dialRaw(t, as{h.Server, outsider})
	r.hello(name(1))
	r.say("SUB _INBOX_%s.a  1\r\n", name(1))
	for _, subject := range append(subjects, "$SRV.PING", "$SRV.INFO", "$SRV.PING.scv", "$SRV.INFO.scv") {
		r.say("PUB %s _INBOX_%s.a 0\r\n\r\n", subject, name(1))
		r.expect("MSG ")
		line := r.expect("")
		if want := subject + " peer-4711-1"; !strings.HasPrefix(subject, "$SRV.") && line != want {
			t.Errorf("the reply is %q, want %q", line, want)
		}
		if strings.HasPrefix(subject, "$SRV.") && !strings.Contains(line, `"name":"scv"`) {
			t.Errorf("%s says %q", subject, line)
		}
	}
}
