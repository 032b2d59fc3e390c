package archtest

import (
	"fmt"
	"strings"
)

// Room is one package and what of this module its code may import.
type Room struct {
	Path string   // or a pattern that ends in /...
	May  []string // rooms or patterns; nil is none
	Why  string
}

// The values that pass between the daemon's limbs: plain types, no powers.
var plain = []string{"wire", "internal/clock"}

// The rooms with an effect on the world outside mark its moments for the tests of faults.
var effects = append([]string{"internal/failpoint"}, plain...)

// The ports of the limbs that work on the store: how they reach a platform, an agent, a process, a rule.
var ports = append([]string{
	"store", "daemon/channel", "daemon/chatcommand", "daemon/agent", "daemon/process", "daemon/confirm",
}, effects...)

// rooms is the whole house; the first row that matches counts. Tests may look over these fences
// (they drive a room from outside); the doors of doors.go hold for them too.
var rooms = []Room{
	{"wire", nil, "the language knows no transport, no store and no rule"},
	{"wire/bus", []string{"wire"}, "the bus carries the language and knows nothing of what is said"},
	{"internal/clock", nil, "everybody may ask for the time, so it may depend on nobody"},
	{"internal/failpoint", nil, "it names moments, and knows nothing of what happens in them"},
	{"internal/durable", []string{"internal/failpoint"}, "it puts files in place, and knows nothing of what is in them"},
	{"internal/layout", nil, "it names the files of a home, and opens none"},
	{"internal/archtest", nil, "it judges the others from their text alone"},
	{"internal/loopback", nil, "it is the net of a fake platform, and knows nothing of what is said on it"},
	{"internal/fakemodel", nil, "a model knows nothing of who asks it"},
	{"internal/testexe", nil, "fake programs are driven by data and know nothing of SCV"},
	{"internal/testexe/fake", []string{"internal/testexe"}, "it is that and nothing else"},
	{"internal/bench", []string{"wire", "wire/bus", "store", "daemon/reconcile", "daemon/channel", "daemon/delegation", "daemon/process", "daemon/agent", "internal/bench/writer", "internal/clock", "internal/layout"}, "it measures the real parts where they stand, beside bare ones; what only the daemon can show, it asks the daemon"},
	{"internal/bench/echo", []string{"wire", "wire/bus", "daemon/transport"}, "the same transport and bus as the daemon's, and nothing behind them"},
	{"internal/bench/...", nil, "a bare program to measure against must owe nothing to what is measured"},
	{"internal/demo", []string{"daemon/channel/feishu/feishutest", "daemon/channel/wechat/wechattest"}, "the demo uses the scv command as a person would, in chats on platforms that it plays"},

	{"migrations", effects, "each step owns frozen copies of its types: a change of today's types must not change the past"},
	{"store", append([]string{"migrations", "internal/durable"}, effects...), "the memory keeps records and knows no rule and no limb"},
	{"store/storetest", append([]string{"store"}, plain...), "it opens stores for the tests of others"},

	{"daemon/process/processtest", []string{"daemon/process", "internal/testexe"}, "it makes a test what the daemon is to its runs"},
	{"daemon/process", append([]string{"daemon/caller"}, effects...), "it has the power to kill and must not know why; caller lends it plain types"},
	{"daemon/lock", append([]string{"daemon/process"}, plain...), "the right to a home is one file: it knows processes, and not what is done with the home"},
	{"daemon/service", []string{"daemon/process", "daemon/lock", "internal/layout", "internal/durable", "internal/failpoint"}, "it knows how a service manager is spoken to, and of SCV itself no more than how it is started and who holds a home"},
	{"daemon/restart", append([]string{"store", "daemon/process", "daemon/lock", "internal/layout", "internal/durable"}, effects...), "it must work where config, store and bus do not: of those it knows plain records at most"},
	{"daemon/caller", plain, "a pure decision over facts: who may what is read in one place"},
	{"daemon/confirm", plain, "pure rules: every race of a question is read in one place"},
	{"daemon/notify", plain, "a pure choice of a chat from facts: it sends nothing"},
	{"daemon/outage", plain, "a pure choice of a moment from what is seen: it tells nobody itself"},
	{"daemon/chatcommand", nil, "pure words: what an owner can write to SCV itself is read in one place"},
	{"daemon/config", plain, "it reads config.toml into plain values and knows no reader of them"},
	{"daemon/credential", []string{"internal/layout", "internal/durable", "internal/failpoint"}, "it keeps secrets and must not know whose door they open"},
	{"daemon/media", []string{"daemon/channel", "internal/layout", "internal/durable", "internal/failpoint"}, "it keeps files for chats: it knows neither who asks for them nor how a platform carries them"},
	{"daemon/logfile", nil, "a log must not depend on what it tells of"},
	{"daemon/transport", []string{"wire", "daemon/caller", "internal/failpoint"}, "it moves bytes and identities and knows no handler"},
	{"daemon/channel", plain, "a port: an adapter gets what it needs as values and functions"},
	{"daemon/channel/feishu/feishutest", []string{"internal/loopback"}, "a fake platform that shared code with the adapter would share its mistakes"},
	{"daemon/channel/wechat/wechattest", []string{"internal/loopback"}, "a fake platform that shared code with the adapter would share its mistakes"},
	{"daemon/channel/...", append([]string{"daemon/channel"}, plain...), "an adapter knows one platform, neither the store nor the bus nor another adapter"},
	{"daemon/agent", plain, "a port: a driver gets what it needs as values and functions, neither store nor bus"},
	{"daemon/reconcile", ports, "the loop compares desired with observed and knows no platform by name"},
	{"daemon/inbox", ports, "answers and rules come to it as functions, so that no import points upward"},
	{"daemon/live", append([]string{"daemon/delegation"}, ports...), "it keeps agents between turns, whoever's turns they are"},
	{"daemon/turn", append([]string{"daemon/delegation", "daemon/live", "daemon/media"}, ports...), "a turn is one run and its reply; it knows agents and channels only by their ports"},
	{"daemon/outbox", append([]string{"daemon/media"}, ports...), "it knows channels only by their port"},
	{"daemon/delegation", append([]string{"daemon/caller"}, ports...), "it tells caller which runs there are and keeps records of runs; who asked for them is not its business"},
	{"daemon", []string{"daemon/...", "store", "wire/...", "internal/clock", "internal/failpoint", "internal/layout"}, "the composition root is where the limbs meet; the past is the store's business"},

	{"cmd/scv", []string{"wire", "wire/bus", "internal/layout"}, "a hand speaks to the daemon by the bus; a file that needs more has its row in handFiles"},
}

// handFiles is what single files of cmd/scv may import besides.
var handFiles = map[string][]string{
	"run.go":   {"daemon", "daemon/restart"},
	"boot.go":  {"daemon/restart"},
	"guard.go": {"daemon", "daemon/restart"}, // the other processes of a restart

	"service.go":        {"daemon/service", "daemon/process", "daemon/restart"}, // which program is to be kept running
	"start.go":          {"daemon/service"},
	"stop.go":           {"daemon/service"},
	"restart_now.go":    {"daemon/service"},
	"doctor_service.go": {"daemon/service"},

	"store.go": {"store", "migrations"},

	"store_examine.go": {"store"},
	"store_dump.go":    {"store"},
	"store_check.go":   {"store", "daemon"}, // whose child looks through the file
	"store_change.go":  {"store"},
	"agents.go":        {"daemon/agent", "daemon/config"},

	// Without a daemon, too.
	"channels_login.go":        {"daemon/credential", "daemon/config"},
	"channels_login_feishu.go": {"daemon/channel", "daemon/channel/feishu", "daemon/credential", "daemon/config"},
	"channels_login_wechat.go": {"daemon/channel", "daemon/channel/wechat", "daemon/credential", "daemon/config"},
	"channels_login_name.go":   {"daemon/channel/feishu", "daemon/channel/wechat", "daemon/credential"},

	"delegate_here.go":   {"daemon/agent", "daemon/config"},
	"delegate_run.go":    {"daemon/agent", "daemon/process"}, // it owns its run
	"delegate_output.go": {"daemon/agent"},

	"confirm_git.go": {"daemon/process"}, // it asks git what a name means

	"agent_serve.go": {"daemon/process"}, // it starts the daemon whose chat it is

	"doctor_config.go": {"daemon/config"},
	"doctor_linux.go":  {"daemon/process"}, // to look where the daemon makes cgroups; it has no table of processes
	"doctor_store.go":  {"store"},
}

func checkRooms(t *Tree) []Breach {
	var out []Breach
	unknown := map[string]bool{}
	for _, f := range t.Files {
		if f.Test {
			continue
		}
		room, ok := findRoom(f.Room)
		if !ok {
			if !unknown[f.Room] {
				unknown[f.Room] = true
				out = append(out, Breach{
					Where: f.Path, What: fmt.Sprintf("package %s has no row", f.Room),
					Why: "every package says what it may import: add it to the table in internal/archtest/rooms.go",
				})
			}
			continue
		}
		out = append(out, t.checkImports(f, room)...)
	}
	return out
}

func (t *Tree) checkImports(f *File, room Room) []Breach {
	may := room.May
	if f.Room == "cmd/scv" {
		may = append(may[:len(may):len(may)], handFiles[strings.TrimPrefix(f.Path, "cmd/scv/")]...)
	}
	var out []Breach
	for _, spec := range f.Src.Imports {
		name, ours := strings.CutPrefix(imported(spec), t.Module+"/")
		if ours && name != f.Room && !withinAny(may, name) {
			out = append(out, Breach{
				Where: t.at(spec.Pos()),
				What:  fmt.Sprintf("%s imports %s", f.Room, name),
				Why:   room.Why,
			})
		}
	}
	return out
}

func findRoom(path string) (Room, bool) {
	for _, r := range rooms {
		if within(r.Path, path) {
			return r, true
		}
	}
	return Room{}, false
}
