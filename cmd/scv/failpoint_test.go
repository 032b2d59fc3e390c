package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/daemon/process"
	"scv/internal/failpoint"
	"scv/wire"
)

// builds are scv as a user builds it, by build tag: the long loops want its speed, not the race
// detector of the test binary.
var builds = map[string]func() (string, error){
	"":           sync.OnceValues(func() (string, error) { return goBuild("") }),
	"failpoints": sync.OnceValues(func() (string, error) { return goBuild("failpoints") }),
}

func goBuild(tag string) (string, error) {
	path := filepath.Join(buildFolder, cmp.Or(tag, "plain"), "scv")
	out, err := exec.Command("go", "build", "-tags", tag, "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
}

func builtWith(t *testing.T, tag string) string {
	t.Helper()
	path, err := builds[tag]()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFailpoints plans a fault at every commit and every effect on the world outside: the daemon dies
// there, is told of an error there, or waits there. Whatever it acknowledged holds afterwards.
func TestFailpoints(t *testing.T) {
	program := builtWith(t, "failpoints")
	seed := uint64(number(t, "SCV_CRASH_SEED", int(time.Now().UnixNano()%1e9)))
	t.Logf("seed %d (SCV_CRASH_SEED=%d repeats it)", seed, seed)
	random := rand.New(rand.NewPCG(seed, 7))
	for _, point := range failpoint.All {
		for _, mode := range []string{"crash", "error", "stall"} {
			at := 1
			if strings.HasPrefix(point, "store.commit") {
				at = 3 + random.IntN(25) // the first ones belong to the start
			}
			if strings.HasPrefix(point, "cgroup.") {
				at = 2 // the first one is the start's try
			}
			t.Run(point+"="+mode, func(t *testing.T) {
				t.Parallel()
				planned(t, program, point, mode, at, seed)
			})
		}
	}
}

// planned lets one fault happen under load, and holds what is left against what was acknowledged.
func planned(t *testing.T, program, point, mode string, at int, seed uint64) {
	if _, err := process.FindCgroups(); err != nil && strings.HasPrefix(point, "cgroup.") {
		t.Skip("nothing was tested: ", err)
	}
	home := newHome(t)
	m := newModel(home)
	prelude(t, point, home)
	hits := filepath.Join(filepath.Dir(home), "hits")
	d := spawnDaemon(t, home, program, []string{
		fmt.Sprintf("SCV_FAILPOINTS=%s=%s@%d", point, mode, at), "SCV_FAILPOINTS_HITS=" + hits,
	})
	if err := d.ready(t); err == nil {
		tolerant := func(ctx context.Context, err error) bool { return expectedEnd(ctx, err) || refusedFor(err, mode) }
		stop := d.letLoose(t, m, seed, 1, tolerant)
		awaitHit(t, d, m, hits)
		stop()
	} else if mode == "stall" {
		t.Fatalf("a stall ended the start: %v\n%s", err, d.log())
	}
	if _, err := os.Stat(hits); err != nil {
		t.Fatalf("the fault never happened\n%s", d.log())
	}
	d.kill()
	m.conclude(t, startDaemon(t, home))
}

// prelude leaves something for the fault to happen at: a socket of a daemon that was killed, or a run of its.
func prelude(t *testing.T, point, home string) {
	t.Helper()
	switch point {
	case failpoint.SocketRemove:
		startDaemon(t, home).kill()
	case failpoint.Signal:
		leaveOrphan(t, home)
	}
}

// leaveOrphan leaves a run of a daemon that was killed, which the next one stops once it has been listed for a while.
func leaveOrphan(t *testing.T, home string) {
	t.Helper()
	file := filepath.Join(home, "config.toml")
	usual, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte("[agents.stays]\ncommand = [\"sleep\", \"300\"]\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, home)
	c := d.client(t)
	if _, err := c.DelegationStart(t.Context(), wire.DelegationStart{Agent: "stays", Prompt: "x", Cwd: home}); err != nil {
		t.Fatal(err)
	}
	entries(t, c, 20*time.Second, func(runs []wire.DelegationInfo) bool {
		return len(runs) == 1 && runs[0].PID > 1
	})
	d.kill()
	if err := os.WriteFile(file, usual, 0o600); err != nil {
		t.Fatal(err)
	}
}

// refusedFor tells a planned error from a fault: the daemon may refuse as unavailable, never otherwise. A log-out
// that met the error is finished by the next pass of the reconciler, and may be in somebody's way until then.
func refusedFor(err error, mode string) bool {
	r, ok := asRefusal(err)
	leaving := ok && r.Code == wire.ComponentError && strings.Contains(r.Text, "is being logged out")
	return ok && mode != "crash" && (leaving || r.Code == wire.Unavailable || r.Code == wire.DelegationError)
}

// awaitHit waits until the fault has happened and the clients have gone on for a while. A daemon in a
// stalled step goes on answering.
func awaitHit(t *testing.T, d *daemonProcess, m *model, hits string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		select {
		case <-d.ended:
			return
		default:
		}
		if _, err := os.Stat(hits); err == nil {
			break
		}
	}
	c, err := d.connect(t.Context())
	if err != nil {
		return // it is dying
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := c.Control(ctx, wire.StatusCommand{}); err != nil && !expectedEnd(ctx, err) {
		t.Errorf("status after the fault: %v", err)
	}
	moment{replies: 15, after: 10 * time.Millisecond}.await(m)
}

// TestHarnessCatchesBrokenBuilds: a build that breaks a promise must be found out, or the harness is
// worth nothing.
func TestHarnessCatchesBrokenBuilds(t *testing.T) {
	program := builtWith(t, "failpoints")
	for _, broken := range []string{failpoint.BrokenAck, failpoint.BrokenDedup} {
		t.Run(broken, func(t *testing.T) {
			home := newHome(t)
			m := newModel(home)
			for round := range 40 {
				d := spawnDaemon(t, home, program, []string{"SCV_FAILPOINTS=" + broken})
				if found := d.verify(t, m, true); len(found.list) > 0 {
					t.Logf("found out in round %d: %s", round, found.list[0])
					d.kill()
					startDaemon(t, home).terminate(t) // whose start clears up what still runs
					return
				}
				d.disturb(t, m, 1, round, moment{replies: 12}, func(context.Context, error) bool { return true })
			}
			t.Error("the harness did not notice")
		})
	}
}

// awaitNoCgroup waits until no run of this home has left its cgroup. A daemon must be there: what was a run of
// an earlier one goes by a pass of the next.
func awaitNoCgroup(t *testing.T, home string) {
	t.Helper()
	cgroups, _ := process.FindCgroups() // "" holds none
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left, err := cgroups.Handles(instanceID(home))
		if err == nil && len(left) == 0 {
			return
		}
		if err != nil || time.Now().After(deadline) {
			t.Errorf("cgroups are left: %v %v", left, err)
			return
		}
	}
}
