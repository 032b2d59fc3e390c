package restart

import "testing"

// TestRuleOfStarts is the table of decide.
func TestRuleOfStarts(t *testing.T) {
	ok, back := Verdict{OK: true}, Verdict{Why: "it was bad"}
	for _, c := range []struct {
		name  string
		found found
		deed  deed
		back  bool
	}{
		{"new, first start", found{New: true, Starts: 1}, prove, false},
		{"new, second start", found{New: true, Starts: 2}, prove, false},
		{"new, third start", found{New: true, Starts: 3}, become, true},
		{"new, more than that", found{New: true, Starts: 9}, become, true},
		{"new, accepted", found{New: true, Given: true, Verdict: ok}, serve, false},
		{"new, rolled back", found{New: true, Given: true, Verdict: back}, become, true},
		{"another, no verdict", found{}, goBack, true},
		{"another, rolled back", found{Given: true, Verdict: back}, goBack, true},
		{"another, accepted", found{Given: true, Verdict: ok}, serve, false},
	} {
		deed, v := decide(c.found)
		if deed != c.deed || (v.Why != "") != c.back {
			t.Errorf("%s: %s, %+v; want %s", c.name, deed, v, c.deed)
		}
		if c.found.Given && v != c.found.Verdict {
			t.Errorf("%s: the verdict that stands is %+v, and %+v was obeyed", c.name, c.found.Verdict, v)
		}
	}
}

// TestHomeOf reads as much of a command line as must be read before its flags are.
func TestHomeOf(t *testing.T) {
	env := []string{"SCV_HOME=/from/env", "HOME=/root"}
	for _, c := range []struct {
		args []string
		env  []string
		want string
	}{
		{[]string{"scv", "run"}, env, "/from/env"},
		{[]string{"scv", "run"}, env[1:], "/root/.scv"},
		{[]string{"scv", "run"}, nil, ""},
		{[]string{"scv", "--home", "/a", "run"}, env, "/a"},
		{[]string{"scv", "run", "--log-level", "debug", "--home=/b"}, env, "/b"},
		{[]string{"scv", "status"}, env, ""},
		{[]string{"scv", "--home", "run", "status"}, env, ""},
		{[]string{"scv", "confirm", "run"}, env, ""},
		{[]string{"scv"}, env, ""},
	} {
		if got := homeOf(c.args, c.env); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
