package main

import (
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
)

// style is how a cell looks on a terminal with colour.
type style string

const (
	plain style = ""
	dim   style = "\x1b[2m"
	good  style = "\x1b[32m"
	warn  style = "\x1b[33m"
	bad   style = "\x1b[31m"

	unstyled = "\x1b[0m"
)

// cell is one field of a table. Its text may be foreign: the table escapes it.
type cell struct {
	text  string
	style style
}

// table lines up columns by the width they take on a terminal, so that Chinese names stay in line.
type table struct {
	indent string
	most   int // columns of the screen that a row may take, the rest of its last cell left out; 0 is any
	rows   [][]cell
}

func (t *table) head(names ...string) {
	row := make([]cell, len(names))
	for i, name := range names {
		row[i] = cell{name, dim}
	}
	t.rows = append(t.rows, row)
}

func (t *table) row(cells ...cell) { t.rows = append(t.rows, cells) }

// write prints the rows; the last column is not padded.
func (t *table) write(w io.Writer, colour bool) {
	var widths []int
	for _, row := range t.rows {
		for i := range row {
			row[i].text = line(row[i].text)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runewidth.StringWidth(row[i].text))
		}
	}
	for _, row := range t.rows {
		t.fit(row, widths)
		io.WriteString(w, t.indent+renderRow(row, widths, colour)+"\n")
	}
}

// fit cuts the last cell of a row that would not stand on one line.
func (t *table) fit(row []cell, widths []int) {
	if t.most == 0 || len(row) == 0 {
		return
	}
	last, before := &row[len(row)-1], runewidth.StringWidth(t.indent)
	for _, w := range widths[:len(row)-1] {
		before += w + 2
	}
	last.text = runewidth.Truncate(last.text, max(t.most-before, leastShown), "…")
}

// leastShown is what of a cell is shown however narrow the screen is.
const leastShown = 16

func renderRow(row []cell, widths []int, colour bool) string {
	var b strings.Builder
	for i, c := range row {
		pad := strings.Repeat(" ", widths[i]-runewidth.StringWidth(c.text)+2)
		b.WriteString(paint(c.text, c.style, colour))
		if i < len(row)-1 {
			b.WriteString(pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// paint wraps text in a style where colour is wanted.
func paint(text string, s style, colour bool) string {
	if !colour || s == plain || text == "" {
		return text
	}
	return string(s) + text + unstyled
}
