package process

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"scv/daemon/caller"
	"scv/internal/testexe"
)

// listen opens a socket and returns its path and a way to take the next connection.
func listen(t *testing.T) (string, func() *net.UnixConn) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return path, func() *net.UnixConn {
		if err := l.SetDeadline(time.Now().Add(limit)); err != nil {
			t.Fatal(err)
		}
		conn, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
}

func TestFactsOfACaller(t *testing.T) {
	tag := instance + "/s1/" + handleOf(t)
	for name, tc := range map[string]struct {
		how     testexe.Spawn
		wantTag string // of the caller itself
		through bool   // its chain holds the leader
	}{
		"a child":                       {testexe.Spawn{}, tag, true},
		"setsid":                        {testexe.Spawn{Setsid: true}, tag, true},
		"env -i":                        {testexe.Spawn{EmptyEnv: true}, "", true},
		"setsid env -i, double fork":    {testexe.Spawn{Setsid: true, EmptyEnv: true, Double: true}, "", false},
		"double fork, within the group": {testexe.Spawn{Double: true}, tag, false},
	} {
		t.Run(name, func(t *testing.T) {
			path, accept := listen(t)
			file := filepath.Join(t.TempDir(), "caller")
			tc.how.Script = testexe.Script{{WritePID: file}, {Connect: path}, {SleepMillis: forever}}
			c := spawn(t, Spec{Env: []string{tagVariable + "=" + tag}}, testexe.Script{{Spawn: &tc.how}, {SleepMillis: forever}})
			conn := accept()
			peer := pidIn(t, file)
			if tc.how.Double {
				until(t, "it is ours", func() bool { p, _ := scan(t).Find(peer); return p.PPID == os.Getpid() })
			}
			uid, facts := Facts(conn)
			if uid != os.Getuid() || !facts.Alive || !facts.Complete || len(facts.Chain) < 2 {
				t.Fatalf("uid %d, facts %+v", uid, facts)
			}
			first := facts.Chain[0]
			if first.PID != peer.PID || first.Start != peer.Start || first.Tag != tc.wantTag || !first.EnvReadable {
				t.Errorf("the caller is %v with tag %q, facts say %+v", peer, tc.wantTag, first)
			}
			if got := holds(facts, c.ID()); got != tc.through {
				t.Errorf("chain holds the leader: %v", got)
			}
			if self, _ := Self(); !holds(facts, self) {
				t.Error("the chain does not reach us")
			}
			if end := facts.Chain[len(facts.Chain)-1]; end.PPID != 0 {
				t.Errorf("complete, but ends at %+v", end)
			}
			stop(t, Run{Leader: c.ID(), Group: c.ID().PID, Known: []ID{peer}})
			if _, facts := Facts(conn); facts.Alive {
				t.Error("the caller is dead, facts say alive")
			}
		})
	}
}

func holds(f caller.Facts, id ID) bool {
	for _, l := range f.Chain {
		if l.PID == id.PID && l.Start == id.Start {
			return true
		}
	}
	return false
}

// It connected and ended before anybody looked.
func TestFactsOfACallerThatIsGone(t *testing.T) {
	path, accept := listen(t)
	wait(t, spawn(t, Spec{}, testexe.Script{{Connect: path}}))
	uid, facts := Facts(accept())
	if facts.Alive {
		t.Errorf("uid %d, facts %+v", uid, facts)
	}
	if v := caller.Decide(facts, caller.Known{}); v.May(caller.Anyone) {
		t.Errorf("it may come in: %+v", v)
	}
}

func TestFactsOfAClosedConnection(t *testing.T) {
	path, accept := listen(t)
	client, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn := accept()
	conn.Close()
	if uid, facts := Facts(conn); uid != -1 || facts.Alive {
		t.Errorf("uid %d, facts %+v", uid, facts)
	}
}

func TestChainOfNoProcessIsIncomplete(t *testing.T) {
	if chain, complete := ancestry(maxPID + 1); complete || len(chain) != 0 {
		t.Errorf("chain %v, complete %v", chain, complete)
	}
}
