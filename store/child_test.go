package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/migrations"
)

// dieAtEnv names the step of a creation at which a child kills itself.
const dieAtEnv = "SCV_STORE_TEST_DIE_AT"

func child(t *testing.T, mode, path string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, path)
	cmd.Env = append(os.Environ(), childMode+"="+mode, "GORACE=atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// childWrite writes as fast as it can from several goroutines and says each name once it is stored.
func childWrite(path string) error {
	s, err := Open(context.Background(), optionsAt(path))
	if err != nil {
		return err
	}
	life := os.Getpid()
	var writers sync.WaitGroup
	for worker := range 8 {
		writers.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%d-%d-%d", life, worker, n)
				if err := writePair(s, id); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Println(id)
			}
		})
	}
	writers.Wait()
	return nil
}

// writePair stores two records that belong together, in one transaction.
func writePair(s *Store, id string) error {
	return s.Deliver(context.Background(), func(d *Delivery) error {
		if err := d.MarkSeen("local:default", id); err != nil {
			return err
		}
		return d.PutConversation("local:default", id, Conversation{Agent: "a", LastUse: s.clock.Now()})
	})
}

func TestAcknowledgedWritesSurviveKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scv.db")
	acked := map[string]bool{}
	for range 30 {
		cmd := child(t, "write", path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewReader(out)
		_, err = lines.Peek(1) // its first write is stored
		must(t, err)
		killer := time.AfterFunc(rand.N(30*time.Millisecond), func() { _ = cmd.Process.Kill() })
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				break // the last line may be cut; it does not count
			}
			acked[strings.TrimSpace(line)] = true
		}
		_ = cmd.Wait()
		killer.Stop()
		checkPairs(t, path, acked)
	}
	if len(acked) < 100 {
		t.Errorf("only %d writes: the test shows nothing", len(acked))
	}
	t.Logf("%d acknowledged writes over 30 kills", len(acked))
}

func checkPairs(t *testing.T, path string, acked map[string]bool) {
	t.Helper()
	s := openTest(t, optionsAt(path))
	defer func() { must(t, s.Close()) }()
	if bad := s.Quarantined(); len(bad) > 0 {
		t.Fatalf("in quarantine: %v", bad)
	}
	must(t, s.read(func(x *txn) error {
		seen := map[string]bool{}
		for key := range ascend[Seen](x, tableSeen, nil) {
			seen[string(key)] = true
		}
		whole := 0
		for key := range ascend[Conversation](x, tableConversations, nil) {
			if seen[string(key)] {
				whole++
			}
		}
		if whole != len(seen) && len(seen) < keepSeen {
			t.Fatalf("%d of %d pairs are whole", whole, len(seen))
		}
		for id := range acked {
			if _, ok := get[Conversation](x, tableConversations, accountTextKey("local:default", id)); !ok {
				t.Fatalf("acknowledged %s is lost", id)
			}
		}
		return nil
	}))
}

// childCreate makes a store under a mask that hides nothing, and dies at the given step.
func childCreate(path string) error {
	unix.Umask(0)
	o := optionsAt(path)
	o.step = func(name string) {
		fmt.Println(name)
		if name == os.Getenv(dieAtEnv) {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
	}
	s, err := Open(context.Background(), o)
	if err != nil {
		return err
	}
	return s.Close()
}

func TestKilledCreationLeavesNoneOrWhole(t *testing.T) {
	steps := creationSteps(t)
	if len(steps) != 5 {
		t.Fatalf("steps are %q", steps)
	}
	for _, step := range steps {
		path := filepath.Join(t.TempDir(), "scv.db")
		if err := child(t, "create", path, dieAtEnv+"="+step).Run(); err == nil {
			t.Fatalf("%s: the child lived", step)
		}
		_, statErr := os.Stat(path)
		if named := statErr == nil; named != (step == "named") {
			t.Errorf("%s: the store has its name: %v", step, named)
		}
		s := openTest(t, optionsAt(path))
		if s.Fresh() != (step != "named") {
			t.Errorf("%s: fresh is %v", step, s.Fresh())
		}
		if m := view(t, s, (*View).Meta); m.Instance != "8973cbc5" || m.Schema != migrations.Newest() || m.Release != "0.1.0" {
			t.Errorf("%s: %+v", step, m)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
			t.Errorf("%s: left over: %v", step, left)
		}
	}
}

func creationSteps(t *testing.T) []string {
	out, err := child(t, "create", filepath.Join(t.TempDir(), "scv.db")).Output()
	must(t, err)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestStoreIsPrivateWhateverTheMask(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scv.db")
	must(t, child(t, "create", path).Run())
	checkPrivate(t, path)
	for _, step := range creationSteps(t)[:4] {
		dir := t.TempDir()
		_ = child(t, "create", filepath.Join(dir, "scv.db"), dieAtEnv+"="+step).Run()
		temps, _ := filepath.Glob(filepath.Join(dir, ".*"))
		if len(temps) != 1 {
			t.Fatalf("%s: %v", step, temps)
		}
		checkPrivate(t, temps[0])
	}
	must(t, os.Chmod(path, 0o644)) // copied into place by hand
	s := openTest(t, optionsAt(path))
	checkPrivate(t, path)
	snapshot := filepath.Join(t.TempDir(), "copy.db")
	must(t, s.Snapshot(context.Background(), snapshot))
	checkPrivate(t, snapshot)
}

func checkPrivate(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %o", path, info.Mode().Perm())
	}
}

// childHold holds the store until its input ends.
func childHold(path string) error {
	s, err := Open(context.Background(), optionsAt(path))
	if err != nil {
		return err
	}
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return s.Close()
}

// holdElsewhere starts a process that holds the store and returns it.
func holdElsewhere(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := child(t, "hold", path)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the holder says %q", line)
	}
	return cmd
}

// childLook opens every store of a folder, any of which may be damaged, and reads and writes it. Any
// answer will do but none.
func childLook(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		s, err := Open(context.Background(), quickOptions(filepath.Join(dir, e.Name())))
		if err != nil {
			fmt.Println("refused:", err)
			continue
		}
		_ = s.Dump(context.Background(), DumpOptions{}, func(Row) error { return nil })
		_ = writePair(s, "after")
		_ = s.Close()
		fmt.Println("opened", e.Name())
	}
	return nil
}
