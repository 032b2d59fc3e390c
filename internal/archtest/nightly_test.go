package archtest

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	// A row of docs/reliability.md's table of harnesses: what, where, short form, long form.
	harnessRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]*)\|$`)
	variable   = regexp.MustCompile(`SCV_[A-Z0-9_]+`)
	// A call of go test in the Makefile: the tests that it runs, and where.
	testCall  = regexp.MustCompile(`(?m)^\t(.*)go test (.*)$`)
	testsRun  = regexp.MustCompile(`-run '?([\w|$()]+)'?`)
	makeValue = regexp.MustCompile(`(?m)^(\w+) := (.+)$`)
)

// TestNightlyRunsEveryLongForm holds `make nightly` to docs/reliability.md: a test with a long form is run by it,
// with the variable that makes it long, and nobody has to remember to.
func TestNightlyRunsEveryLongForm(t *testing.T) {
	top := os.DirFS("../..")
	page, text := readText(t, top, "docs/reliability.md"), readText(t, top, "Makefile")
	_, table, _ := strings.Cut(page, "## Harnesses")
	table, _, _ = strings.Cut(table, "\n## ")
	calls := nightlyCalls(t, text)
	rows := 0
	for _, row := range harnessRow.FindAllStringSubmatch(table, -1) {
		long := strings.TrimSpace(row[4])
		if long == "" || strings.HasPrefix(row[1], "---") || row[1] == "what" {
			continue
		}
		for _, named := range testNamed.FindAllStringSubmatch(row[2], -1) {
			rows++
			if !calls.run(named[1], variable.FindAllString(long, -1)) {
				t.Errorf("make nightly does not run %s, whose long form is %q", named[1], long)
			}
		}
	}
	if rows < 15 {
		t.Errorf("only %d tests with a long form were found: the table is read wrongly", rows)
	}
}

// TestPagesNameRealTests: a test that any page names is there.
func TestPagesNameRealTests(t *testing.T) {
	top := os.DirFS("../..")
	tests := testNames(t, top)
	names, err := fs.Glob(top, "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range append(names, "README.md") {
		for _, named := range testNamed.FindAllStringSubmatch(readText(t, top, name), -1) {
			found++
			if !tests[named[1]] {
				t.Errorf("%s names %s, which does not exist", name, named[1])
			}
		}
	}
	if found == 0 {
		t.Error("no page names a test")
	}
}

func readText(t *testing.T, top fs.FS, name string) string {
	t.Helper()
	text, err := fs.ReadFile(top, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// nightly is what `make nightly` runs: for each call its whole line, and which tests.
type nightly []struct {
	line  string
	tests *regexp.Regexp
}

func nightlyCalls(t *testing.T, makefile string) (calls nightly) {
	t.Helper()
	_, recipe, _ := strings.Cut(makefile, "\nnightly:")
	recipe, _, _ = strings.Cut(recipe, "\n\n")
	recipe = strings.ReplaceAll(recipe, "\\\n\t\t", "")
	for _, value := range makeValue.FindAllStringSubmatch(makefile, -1) {
		recipe = strings.ReplaceAll(recipe, "$("+value[1]+")", value[2])
	}
	for _, call := range testCall.FindAllStringSubmatch(recipe, -1) {
		tests := regexp.MustCompile("") // without -run it is all
		if run := testsRun.FindStringSubmatch(call[2]); run != nil {
			tests = regexp.MustCompile(run[1])
		}
		calls = append(calls, struct {
			line  string
			tests *regexp.Regexp
		}{call[0], tests})
	}
	if len(calls) < 5 {
		t.Fatalf("only %d calls of go test in make nightly", len(calls))
	}
	return calls
}

// run reports whether a test is among what one call runs by name, with all the variables.
func (calls nightly) run(test string, variables []string) bool {
	for _, call := range calls {
		if !call.tests.MatchString(test) || call.tests.String() == "" {
			continue
		}
		all := true
		for _, v := range variables {
			all = all && strings.Contains(call.line, v+"=")
		}
		if all {
			return true
		}
	}
	return false
}
