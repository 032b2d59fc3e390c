package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// Door is an outside power and who may use it.
type Door struct {
	Import string   // a path, or a pattern that ends in /...
	Names  []string // only these names of the package count; nil is the import itself
	Open   []string // rooms that may
	Closed []string // with Open nil: only these rooms may not
	Tests  bool     // any room's tests may too
	Why    string
}

// Packages that exist for tests alone.
var testRooms = []string{"store/storetest", "daemon/process/processtest", "daemon/channel/channeltest", "daemon/channel/feishu/feishutest", "daemon/channel/wechat/wechattest", "internal/testexe", "internal/testexe/fake", "internal/archtest"}

// Rooms where a time is stored or compared with a stored one.
var timedRooms = []string{
	"wire/...", "store/...", "migrations/...", "daemon/confirm", "daemon/notify", "daemon/caller",
	"daemon/inbox", "daemon/live", "daemon/turn", "daemon/outbox", "daemon/delegation",
}

// Libraries that every room may use.
var everywhere = []string{"golang.org/x/sys/unix", "github.com/go-json-experiment/json/..."}

// Files that keep modules in go.mod before their user exists.
const pinRoom = "internal/deps"

var doors = []Door{
	// Libraries.
	{Import: "github.com/nats-io/nats.go/...", Open: []string{"wire/bus", "daemon/transport"}, Why: "one door to the bus: wire/bus is the only client and services API; transport's tests attack with a raw client"},
	{Import: "github.com/nats-io/nats-server/v2/...", Open: []string{"daemon/transport", "internal/bench/bare"}, Why: "one door to the server: what a client may reach is decided in daemon/transport alone; a bare one is measured against, and has no client"},
	{Import: "go.etcd.io/bbolt/...", Open: []string{"store", "migrations", "internal/bench/bare", "internal/bench/writer"}, Why: "one door to the file: kinds of transaction and durability hold only if nobody goes around them; bare files are measured against, and are nobody's"},
	{Import: "github.com/alecthomas/kong/...", Open: []string{"cmd/scv"}, Why: "flags are the hand's business"},
	{Import: "github.com/lmittmann/tint/...", Open: []string{"cmd/scv"}, Why: "colour is the hand's business"},
	{Import: "github.com/mattn/go-runewidth/...", Open: []string{"cmd/scv"}, Why: "tables are the hand's business"},
	{Import: "golang.org/x/term/...", Open: []string{"cmd/scv"}, Why: "the daemon has no terminal"},
	{Import: "rsc.io/qr/...", Open: []string{"cmd/scv"}, Why: "a terminal that shows a code is the hand's business"},
	{Import: "github.com/pelletier/go-toml/...", Open: []string{"daemon/config"}, Why: "config.toml is read in one place"},
	{Import: "github.com/modelcontextprotocol/go-sdk/...", Open: []string{"cmd/scv"}, Tests: true, Why: "an agent's tools are one more hand of the command line; the daemon speaks to nobody but by the bus"},
	{Import: "github.com/coder/acp-go-sdk/...", Open: []string{"daemon/agent", "cmd/scv", "internal/testexe"}, Why: "one driver speaks the Agent Client Protocol; scv agent and the fake agents of tests are its other side"},
	{Import: "github.com/coder/websocket/...", Open: []string{"daemon/channel/feishu", "daemon/channel/feishu/feishutest"}, Why: "a long connection is its platform's business"},
	{Import: "google.golang.org/protobuf/encoding/protowire", Open: []string{"daemon/channel/feishu", "daemon/channel/feishu/feishutest"}, Why: "the frames of one platform are written by hand; nothing else here is protobuf"},
	{Import: "github.com/larksuite/oapi-sdk-go/v3/...", Tests: true, Why: "the vendor's clients keep the fake platform honest; the product speaks for itself"},
	{Import: "encoding/json", Tests: true, Why: "version 1 is case-blind, drops duplicate keys and escapes HTML: use github.com/go-json-experiment/json or package wire"},

	// Processes and signals.
	{Import: "os/exec", Names: []string{"Command", "CommandContext", "Cmd"}, Open: []string{"daemon/process", "internal/bench", "internal/demo", "internal/testexe"}, Tests: true, Why: "one room spawns, so that one room knows every child and reaps it"},
	{Import: "os", Names: []string{"StartProcess", "FindProcess"}, Open: []string{"daemon/process", "internal/demo", "internal/testexe"}, Tests: true, Why: "one room spawns and signals, after it has proven whose process it is"},
	{Import: "syscall", Names: []string{"Kill", "ForkExec", "StartProcess", "Exec", "Wait4"}, Open: []string{"daemon/process", "internal/demo", "internal/testexe", "internal/failpoint"}, Tests: true, Why: "one room spawns, signals and reaps; a failpoint kills nobody but itself"},
	{Import: "golang.org/x/sys/unix", Names: []string{"Kill", "PidfdOpen", "PidfdSendSignal", "Exec", "Wait4", "Waitid"}, Open: []string{"daemon/process"}, Tests: true, Why: "one room spawns, signals and reaps"},
	{Import: "os/signal", Open: []string{"cmd/scv", "daemon/process", "internal/bench", "internal/demo", "internal/testexe"}, Tests: true, Why: "the hand turns a signal into the end of a context; everybody else sees the context"},

	// The process's own edges.
	{Import: "os", Names: []string{"Args", "Exit", "Stdin", "Stdout", "Stderr"}, Open: []string{"cmd/scv", "internal/bench/...", "internal/demo", "internal/testexe", "internal/testexe/fake", "daemon/process/processtest"}, Tests: true, Why: "the hand owns the process's edges: pass values, readers and writers; return errors"},
	{Import: "os", Names: []string{"Setenv", "Unsetenv", "Clearenv", "Chdir"}, Open: []string{"internal/demo", "internal/testexe"}, Tests: true, Why: "the environment and the folder belong to the whole process: pass them as values"},
	{Import: "log", Why: "it prints behind the hand's back and may exit: use the *slog.Logger you were given"},
	{Import: "net", Names: []string{"Listen", "ListenTCP", "ListenUDP", "ListenPacket", "ListenUnix", "ListenConfig"}, Open: []string{"daemon/transport", "internal/loopback"}, Tests: true, Why: "SCV has one socket and no TCP listener; a fake platform is somebody else"},
	{Import: "net/http", Names: []string{"DefaultServeMux", "Handle", "HandleFunc"}, Why: "what any package may add to, no one package can answer for: make a ServeMux"},
	{Import: "net/http/pprof", Why: "importing it adds handlers to http.DefaultServeMux"},
	{Import: "expvar", Why: "importing it adds a handler to http.DefaultServeMux"},

	// Time, chance, tests.
	{Import: "time", Names: []string{"Now", "Since", "Until"}, Closed: timedRooms, Tests: true, Why: "a stored time outlives a clock step, a suspend and a reboot only as a clock.Stamp: take an internal/clock.Clock"},
	{Import: "math/rand/...", Open: []string{"daemon/reconcile", "daemon/outbox", "daemon/channel/wechat"}, Tests: true, Why: "it can be guessed: ids, codes and passwords come from crypto/rand; only the jitter of a retry may come from here"},
	{Import: "testing/...", Open: testRooms, Tests: true, Why: "the product carries no test code"},
	{Import: "pgregory.net/rapid/...", Open: testRooms, Tests: true, Why: "the product carries no test code"},
	{Import: "go.uber.org/goleak/...", Open: testRooms, Tests: true, Why: "the product carries no test code"},
	{Import: "github.com/rogpeppe/go-internal/...", Open: testRooms, Tests: true, Why: "the product carries no test code"},
	{Import: "github.com/google/go-cmp/...", Open: testRooms, Tests: true, Why: "the product carries no test code"},
}

func checkDoors(t *Tree) []Breach {
	var out []Breach
	for _, f := range t.Files {
		if f.Room == pinRoom {
			continue
		}
		for _, d := range doors {
			if !d.allows(f) {
				out = append(out, t.through(d, f)...)
			}
		}
	}
	return out
}

func (d Door) allows(f *File) bool {
	switch {
	case d.Tests && f.Test:
		return true
	case d.Closed != nil:
		return !withinAny(d.Closed, f.Room)
	default:
		return withinAny(d.Open, f.Room)
	}
}

// through finds each use of a door in a file that may not use it.
func (t *Tree) through(d Door, f *File) []Breach {
	var out []Breach
	for _, spec := range f.Src.Imports {
		p := imported(spec)
		if !within(d.Import, p) {
			continue
		}
		if d.Names == nil {
			out = append(out, Breach{Where: t.at(spec.Pos()), What: fmt.Sprintf("%s imports %s", f.Room, p), Why: d.Why})
			continue
		}
		out = append(out, t.uses(d, f, localName(spec))...)
	}
	return out
}

func (t *Tree) uses(d Door, f *File, local string) []Breach {
	var out []Breach
	ast.Inspect(f.Src, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		// An identifier with an Obj is a variable of this file that hides the import.
		x, ok := sel.X.(*ast.Ident)
		if ok && x.Name == local && x.Obj == nil && slices.Contains(d.Names, sel.Sel.Name) {
			out = append(out, Breach{
				Where: t.at(sel.Pos()),
				What:  fmt.Sprintf("%s uses %s.%s", f.Room, d.Import, sel.Sel.Name),
				Why:   d.Why,
			})
		}
		return true
	})
	return out
}

// localName is what a file calls an import. Doors with names are packages named as their folder.
func localName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path.Base(imported(spec))
}

func checkLibraries(t *Tree) []Breach {
	var out []Breach
	for _, f := range t.Files {
		for _, spec := range f.Src.Imports {
			p := imported(spec)
			host, _, _ := strings.Cut(p, "/")
			known := withinAny(everywhere, p) || slices.ContainsFunc(doors, func(d Door) bool { return within(d.Import, p) })
			if strings.Contains(host, ".") && !known {
				out = append(out, Breach{
					Where: t.at(spec.Pos()), What: p + " has no row",
					Why: "a library is a promise to follow it for years: say in internal/archtest/doors.go who may use it and why",
				})
			}
		}
	}
	return out
}

func checkDotImports(t *Tree) []Breach {
	var out []Breach
	for _, f := range t.Files {
		for _, spec := range f.Src.Imports {
			if spec.Name != nil && spec.Name.Name == "." {
				out = append(out, Breach{
					Where: t.at(spec.Pos()), What: "dot import of " + strings.Trim(spec.Path.Value, `"`),
					Why: "a reader, and these fences, must see whose name it is",
				})
			}
		}
	}
	return out
}
