package restart

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

func TestExamine(t *testing.T) {
	running := Release{Version: "1.0.0", Commit: "aaaaaaaaaaaa", Schema: 2}
	good := Release{Version: "1.1.0", Commit: "bbbbbbbbbbbb", Schema: 2}
	older, newer := good, good
	older.Schema, newer.Schema = 1, 3
	for name, c := range map[string]struct {
		asked     Asked
		installed Release
		obstacles Obstacles
		refused   string // part of the sentence, "" for none
	}{
		"whatever is there":        {installed: good},
		"the right version":        {asked: Asked{Version: "1.1.0"}, installed: good},
		"the wrong version":        {asked: Asked{Version: "1.2.0"}, installed: good, refused: "version 1.1.0 is installed and 1.2.0 was expected"},
		"the right commit":         {asked: Asked{Commit: "bbbbbbbbbbbbcccc"}, installed: good},
		"a short commit":           {asked: Asked{Commit: "bbbbbbb"}, installed: good},
		"too short a commit":       {asked: Asked{Commit: "bb"}, installed: good, refused: "was expected"},
		"the wrong commit":         {asked: Asked{Commit: "cccccccccccc"}, installed: good, refused: "was expected"},
		"an older schema":          {installed: older, refused: "an older release cannot take over"},
		"a newer schema":           {installed: newer},
		"the very same release":    {installed: running},
		"the first process":        {installed: good, obstacles: Obstacles{Init: true}, refused: "first process of its container"},
		"a folder that is closed":  {installed: good, obstacles: Obstacles{Unwritable: "it cannot be written"}, refused: "it cannot be written"},
		"a unit without a way out": {installed: good, obstacles: Obstacles{NoGuard: "no way out"}, refused: "no way out"},
	} {
		err := Examine(c.asked, running, c.installed, c.obstacles)
		var refused *wire.Error
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.refused != "" && (!errors.As(err, &refused) || refused.Code != wire.RestartError || !strings.Contains(refused.Text, c.refused)):
			t.Errorf("%s: %v, want %q", name, err, c.refused)
		}
	}
}

func TestMaxWait(t *testing.T) {
	for seconds, want := range map[uint64]time.Duration{1: time.Second, 3600: time.Hour, 3601: time.Hour, 1<<64 - 1: time.Hour} {
		if wait, err := (Asked{MaxWait: &seconds}).Wait(); wait != want || err != nil {
			t.Errorf("%d: %s, %v", seconds, wait, err)
		}
	}
	if wait, err := (Asked{}).Wait(); wait != 10*time.Minute || err != nil {
		t.Errorf("by default %s, %v", wait, err)
	}
	zero := uint64(0)
	if _, err := (Asked{MaxWait: &zero}).Wait(); err == nil {
		t.Error("0 was taken")
	}
}

func TestMerge(t *testing.T) {
	plan := store.Restart{SHA256: "x", Step: store.RestartWaiting}
	for _, c := range []struct {
		step        store.RestartStep
		under       bool
		sum         string
		keep, wrong bool
	}{
		{store.RestartWaiting, false, "x", false, false},
		{store.RestartWaiting, true, "x", true, false},
		{store.RestartWaiting, true, "y", false, false},
		{store.RestartSwitching, true, "x", false, true},
		{store.RestartSwitching, true, "y", false, true},
		{store.RestartProving, true, "x", false, true},
	} {
		plan.Step = c.step
		keep, err := Merge(plan, c.under, c.sum)
		if keep != c.keep || c.wrong != (err != nil) {
			t.Errorf("%+v: %v, %v", c, keep, err)
		}
	}
}

// The four things that a restart waits for, in exactly these words, the first that applies.
func TestWaitsFor(t *testing.T) {
	all := Work{Requester: Requester{Runs: true, Jobs: 1, Report: true}, Messages: 1}
	asked := store.Restart{Requester: "claude-0a1b2c"}
	want := []string{
		"claude-0a1b2c to finish", "claude-0a1b2c's background jobs", "claude-0a1b2c's report", "an owner message to be answered",
	}
	if got := all.Blockers(asked); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, step := range []struct {
		end  func()
		want string
	}{
		{func() {}, want[0]},
		{func() { all.Requester.Runs = false }, want[1]},
		{func() { all.Requester.Jobs = 0 }, want[2]},
		{func() { all.Requester.Report = false }, want[3]},
		{func() { all.Messages = 0 }, ""},
	} {
		step.end()
		if got := all.WaitsFor(asked); got != step.want {
			t.Errorf("waits for %q, want %q", got, step.want)
		}
	}
	nobody := Work{Requester: Requester{Runs: true, Jobs: 1, Report: true}}
	if got := nobody.WaitsFor(store.Restart{}); got != "" {
		t.Errorf("without a requester it waits for %q", got)
	}
}

// A step of the clock brings no deadline nearer or further.
func TestDue(t *testing.T) {
	clk := clock.NewVirtual()
	plan := store.Restart{Asked: clk.Now(), MaxWait: time.Minute}
	for _, step := range []struct {
		do  func()
		due bool
	}{
		{func() { clk.Step(24 * time.Hour) }, false},
		{func() { clk.Suspend(59 * time.Second) }, false},
		{func() { clk.Step(-48 * time.Hour) }, false},
		{func() { clk.Suspend(time.Second) }, true},
	} {
		step.do()
		if due := Due(plan, clk.Now()); due != step.due {
			t.Errorf("due is %v, want %v", due, step.due)
		}
	}
}

func TestSentence(t *testing.T) {
	plan := store.Restart{FromVersion: "1.0.0", ToVersion: "1.1.0", ToCommit: "bbbbbbbbbbbb", Step: store.RestartProving}
	for _, c := range []struct {
		change func(*store.Restart)
		why    string
		want   string
	}{
		{func(p *store.Restart) { p.Updated = true }, "", "SCV now runs 1.1.0 (bbbbbbbbbbbb)."},
		{func(p *store.Restart) { p.Updated, p.Cut = true, []string{"a-1", "b-2"} }, "", "SCV now runs 1.1.0 (bbbbbbbbbbbb). The restart cut a-1 and b-2."},
		{func(p *store.Restart) { p.Updated = true }, "the account x:y has not come back", "SCV now runs 1.1.0 (bbbbbbbbbbbb), but the account x:y has not come back."},
		{func(*store.Restart) {}, "it ended twice", "SCV went back to 1.0.0 from 1.1.0: it ended twice."},
		{func(p *store.Restart) { p.Step = store.RestartWaiting }, "it does not run", "SCV did not restart into 1.1.0 and still runs 1.0.0: it does not run."},
	} {
		p := plan
		c.change(&p)
		if got := Sentence(p, c.why); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
