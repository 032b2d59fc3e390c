package main

import (
	"os"
	"strings"
	"time"

	"golang.org/x/term"
	"rsc.io/qr"
)

// quietZone is the empty border that a scanner needs, in modules.
const quietZone = 2

// drawCode shows a text as a QR code. Where it cannot be shown, the link below it has to do.
func (a *app) drawCode(text string) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return
	}
	if width := a.width(); width > 0 && width < code.Size+2*quietZone {
		a.say("(the window is too narrow to show it)")
		return
	}
	for _, row := range halfBlocks(code.Size, code.Black) {
		if a.colour { // black on white, whatever the terminal's own colours are
			row = "\x1b[30;107m" + row + "\x1b[0m"
		} else { // most terminals are dark
			row = inverted.Replace(row)
		}
		a.say("%s", row)
	}
}

// width is how many columns stdout's terminal has, 0 where there is none.
func (a *app) width() int {
	out, ok := a.stdout.(*stickyWriter)
	if !ok {
		return 0
	}
	screen, ok := out.w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(screen.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// halfBlocks draws modules with two in each character, one above the other.
func halfBlocks(size int, black func(x, y int) bool) (rows []string) {
	for y := -quietZone; y < size+quietZone; y += 2 {
		var row strings.Builder
		for x := -quietZone; x < size+quietZone; x++ {
			switch above, below := black(x, y), black(x, y+1); {
			case above && below:
				row.WriteString("█")
			case above:
				row.WriteString("▀")
			case below:
				row.WriteString("▄")
			default:
				row.WriteString(" ")
			}
		}
		rows = append(rows, row.String())
	}
	return rows
}

var inverted = strings.NewReplacer("█", " ", " ", "█", "▀", "▄", "▄", "▀")

// inMinutes says how long something takes at most.
func inMinutes(d time.Duration) string {
	return counted(uint64((d+time.Minute-1)/time.Minute), "minute")
}
