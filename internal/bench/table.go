package main

import (
	"fmt"
	"io"
)

// row is one line of the table.
type row struct {
	what       string
	ours, bare string // the medians of the two sides, of this machine
	figure     string
	target     string // "" where a figure is only shown
	met        bool
}

// atMost is a row whose figure should not be larger than the bound.
func atMost(what string, ours, bare, figure, bound float64, unit string) row {
	return row{
		what: what, ours: amount(ours, unit), bare: amount(bare, unit), figure: times(figure),
		target: "≤ " + times(bound), met: figure <= bound,
	}
}

// atLeast is a row whose figure should not be smaller than the bound.
func atLeast(what string, ours, bare, figure, bound float64, unit string) row {
	r := atMost(what, ours, bare, figure, bound, unit)
	r.target, r.met = "≥ "+times(bound), figure >= bound
	return r
}

// shown is a row without a target.
func shown(what, ours, bare, figure string) row {
	return row{what: what, ours: ours, bare: bare, figure: figure}
}

func times(f float64) string {
	if f >= 10 {
		return fmt.Sprintf("%.0f×", f)
	}
	return fmt.Sprintf("%.2f×", f)
}

func amount(f float64, unit string) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f %s", f, unit)
	case f >= 1:
		return fmt.Sprintf("%.1f %s", f, unit)
	}
	return fmt.Sprintf("%.3f %s", f, unit)
}

func printTable(out io.Writer, rows []row) {
	fmt.Fprintln(out, "| what | SCV | bare | figure | target | met |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|")
	for _, r := range rows {
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s |\n", r.what, r.ours, r.bare, r.figure, r.target, r.verdict())
	}
}

func (r row) verdict() string {
	switch {
	case r.target == "":
		return ""
	case r.met:
		return "yes"
	}
	return "**no**"
}
