package reconcile

import (
	"os"
	"slices"
	"strings"
	"testing"

	"scv/internal/clock"
	"scv/wire"
)

// events are the methods by the table's column names.
var events = map[string]func(*component){
	"start":       (*component).start,
	"contacted":   func(c *component) { c.contacted(clock.NewVirtual().Now()) },
	"lost":        func(c *component) { c.lost("lost") },
	"crashed":     func(c *component) { c.crashed("crashed") },
	"needsPerson": func(c *component) { c.needsPerson("needs") },
	"asked":       (*component).asked,
	"joined":      (*component).joined,
	"overdue":     func(c *component) { c.overdue("overdue") },
	"turnedOff":   (*component).turnedOff,
	"broken":      func(c *component) { c.broken("broken") },
}

// table reads the table in component.go's documentation.
func table(t *testing.T) (columns []string, rows map[string][]string) {
	t.Helper()
	src, err := os.ReadFile("component.go")
	if err != nil {
		t.Fatal(err)
	}
	rows = map[string][]string{}
	for line := range strings.Lines(string(src)) {
		left, right, ok := strings.Cut(strings.TrimPrefix(line, "//\t"), "|")
		if !ok || !strings.HasPrefix(line, "//\t") {
			continue
		}
		if state := strings.TrimSpace(left); state == "state" {
			columns = strings.Fields(right)
		} else {
			rows[state] = strings.Fields(right)
		}
	}
	return columns, rows
}

func TestTheTableIsTheCode(t *testing.T) {
	columns, rows := table(t)
	states := []wire.ComponentState{
		wire.Disabled, wire.Starting, wire.Connected, wire.Disconnected, wire.Backoff,
		wire.Stopping, wire.Stopped, wire.Failed,
	}
	if len(columns) != len(events) || len(rows) != len(states) {
		t.Fatalf("%d columns for %d events, %d rows for %d states", len(columns), len(events), len(rows), len(states))
	}
	for _, state := range states {
		row := rows[string(state)]
		if len(row) != len(columns) {
			t.Fatalf("the row of %s has %d cells", state, len(row))
		}
		for i, want := range row {
			before := component{state: state, problem: "before", restarts: 7}
			after := before
			event, ok := events[columns[i]]
			if !ok {
				t.Fatalf("no event %q", columns[i])
			}
			event(&after)
			if want == "-" {
				if after != before {
					t.Errorf("%s in %s: changed to %+v, the table says nothing happens", columns[i], state, after)
				}
			} else if string(after.state) != want {
				t.Errorf("%s in %s: %s, the table says %s", columns[i], state, after.state, want)
			}
		}
	}
}

func TestWhatEventsCarry(t *testing.T) {
	var c component
	do := func(names ...string) {
		for _, n := range names {
			events[n](&c)
		}
	}
	check := func(problem string, restarts uint64) {
		t.Helper()
		if c.problem != problem || c.restarts != restarts {
			t.Errorf("%s: problem %q, restarts %d; want %q, %d", c.state, c.problem, c.restarts, problem, restarts)
		}
	}
	c.state = wire.Stopped
	do("start", "crashed")
	check("crashed", 1)
	do("start")
	check("", 1)
	do("lost")
	check("lost", 1)
	do("contacted")
	check("", 1)
	do("lost", "crashed") // the contact's own sentence says more
	check("lost", 2)
	do("start", "needsPerson")
	check("needs", 2)
	do("start", "asked", "overdue")
	check("overdue", 2)
	do("joined")
	check("", 2)
	do("broken", "turnedOff")
	check("", 2)
	if c.lastSuccess == nil {
		t.Error("the last success was forgotten")
	}
}

func TestSentence(t *testing.T) {
	for in, want := range map[string]string{
		" sign in\nagain\t ": "sign in again",
		"a\x1b[31mb\u202ec":  "a[31mbc",
		"\xff":               "\uFFFD",
		"登录":                 "登录",
	} {
		if got := sentence(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	long := sentence(strings.Repeat("是", 1000))
	if len(long) > maxSentence || !strings.HasSuffix(long, "是…") {
		t.Errorf("%d bytes, ends with %q", len(long), long[len(long)-8:])
	}
}

func TestDiff(t *testing.T) {
	on, off, broken, other := anAccount("a"), anAccount("a"), anAccount("a"), anAccount("a")
	off.Enabled, broken.Broken, other.Workspace = false, "no workspace", "/other"
	for _, c := range []struct {
		name  string
		want  *Desired
		now   observed // zero: never seen
		fresh bool
		do    action
	}{
		{"new", &on, observed{}, false, doStart},
		{"new, off", &off, observed{}, false, doShow},
		{"new, broken", &broken, observed{}, false, doShow},
		{"unchanged", &on, observed{Phase: running, Desired: on}, false, doKeep},
		{"unchanged, reload", &on, observed{Phase: running, Desired: on}, true, doKeep},
		{"changed", &other, observed{Phase: running, Desired: on}, false, doStop},
		{"turned off", &off, observed{Phase: running, Desired: on}, false, doStop},
		{"broke", &broken, observed{Phase: running, Desired: on}, false, doStop},
		{"gone", nil, observed{Phase: running, Desired: on}, false, doStop},
		{"held", &on, observed{Phase: running, Desired: on, Held: true}, false, doStop},
		{"stopping", &on, observed{Phase: stopping, Desired: on}, true, doKeep},
		{"stopping, gone", nil, observed{Phase: stopping, Desired: on}, false, doKeep},
		{"joined", &on, observed{Phase: idle}, false, doStart},
		{"joined, off", &off, observed{Phase: idle}, false, doShow},
		{"joined, gone", nil, observed{Phase: idle}, false, doForget},
		{"joined, held", &on, observed{Phase: idle, Held: true}, true, doKeep},
		{"joined, held, off", &off, observed{Phase: idle, Held: true}, false, doShow},
		{"failed", &on, observed{Phase: failed, Desired: on}, false, doKeep},
		{"failed, reload", &on, observed{Phase: failed, Desired: on}, true, doStart},
		{"failed, changed", &other, observed{Phase: failed, Desired: on}, false, doStart},
		{"failed, off", &off, observed{Phase: failed, Desired: on}, false, doShow},
		{"failed, held, reload", &on, observed{Phase: failed, Desired: on, Held: true}, true, doKeep},
		{"failed, gone", nil, observed{Phase: failed, Desired: on}, false, doForget},
		{"broken still", &broken, observed{Phase: failed, Desired: broken}, false, doShow},
		{"broken no more", &on, observed{Phase: failed, Desired: broken}, false, doStart},
	} {
		var desired []Desired
		if c.want != nil {
			desired = append(desired, *c.want)
		}
		now := map[string]observed{}
		if c.now != (observed{}) {
			now["test:a"] = c.now
		}
		steps := diff(desired, now, c.fresh)
		if len(steps) != 1 || steps[0].Do != c.do {
			t.Errorf("%s: %+v, want %s", c.name, steps, c.do)
		}
	}
}

func TestDiffIsSortedAndOneStepForEachId(t *testing.T) {
	steps := diff([]Desired{anAccount("c"), anAccount("a"), anAccount("c")},
		map[string]observed{"test:b": {Phase: idle}, "test:a": {Phase: idle}}, false)
	var ids []string
	for _, s := range steps {
		ids = append(ids, s.ID)
	}
	if !slices.Equal(ids, []string{"test:a", "test:b", "test:c"}) {
		t.Errorf("steps for %v", ids)
	}
}
