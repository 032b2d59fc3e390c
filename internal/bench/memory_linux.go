package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// residentShares reads the memory map of a process and sums what is resident by what it holds.
func residentShares(pid int) ([]share, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sums := map[string]int64{}
	var kind string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) >= 5 && !strings.HasSuffix(words[0], ":"): // the head of a mapping
			kind = kindOf(words)
		case len(words) >= 2 && words[0] == "Rss:":
			kib, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("cannot read the memory of %d: %w", pid, err)
			}
			sums[kind] += kib << 10
		}
	}
	var shares []share
	for name, bytes := range sums {
		shares = append(shares, share{name, bytes})
	}
	return shares, lines.Err()
}

// kindOf tells from the head of a mapping what it holds.
func kindOf(head []string) string {
	permissions, name := head[1], strings.Join(head[5:], " ")
	switch {
	case strings.HasSuffix(name, ".db"):
		return "store file"
	case strings.HasPrefix(name, "/") && strings.Contains(permissions, "x"):
		return "code"
	case strings.HasPrefix(name, "/") && strings.Contains(permissions, "w"):
		return "variables"
	case strings.HasPrefix(name, "/"):
		return "read-only data"
	case strings.Contains(name, "Go: heap]"):
		return "Go heap"
	default:
		return "Go heap and runtime"
	}
}
