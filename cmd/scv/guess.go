package main

import "strings"

// Words of kong when it guesses what a word may have been meant for: a complaint, a list in quotes, a mark.
const guesses, guessesEnd = ", did you mean ", "?"

// nearly takes from a complaint of kong the guesses that are too far.
func nearly(complaint string) string {
	told, words, found := strings.Cut(complaint, guesses)
	if !found {
		return complaint
	}
	typed := told[strings.LastIndexByte(told, ' ')+1:]
	if meant := nearOnes(typed, words); meant != "" {
		return told + guesses + meant + guessesEnd
	}
	return told
}

// nearOnes keeps of kong's guesses those that a slip of a finger explains, as it words them; "" for none. A
// guess that is far from what was typed sends a person the wrong way.
func nearOnes(typed, words string) string {
	var kept []string
	for i, word := range strings.Split(words, `"`) { // each second one stands between quotes
		if i%2 == 1 && slips(strings.TrimLeft(typed, "-"), strings.TrimLeft(word, "-")) <= 1+len(typed)/8 {
			kept = append(kept, `"`+word+`"`)
		}
	}
	if len(kept) > 1 {
		return "one of " + strings.Join(kept, ", ")
	}
	return strings.Join(kept, "")
}

// slips is how many letters were left out, put in, mistaken, or swapped with their neighbour.
func slips(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
