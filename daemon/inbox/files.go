package inbox

import (
	"strings"
	"unicode/utf8"

	"scv/daemon/channel"
	"scv/store"
)

// Bounds of what is kept of a file before anybody fetches it, in bytes.
const (
	maxFileName = 255
	maxFileRef  = 4 << 10
)

// cleanFiles makes what somebody else said of their files fit to be kept.
func cleanFiles(files []channel.File) []channel.File {
	var fit []channel.File
	for _, f := range files {
		f.Kind = channel.FileKind(strings.ToValidUTF8(string(f.Kind), ""))
		f.Name = shorten(strings.ToValidUTF8(f.Name, "\uFFFD"), maxFileName)
		f.Size = max(f.Size, 0)
		if len(f.Ref) > maxFileRef || !utf8.ValidString(f.Ref) {
			f.Ref = "" // it cannot be fetched, and is said to have come all the same
		}
		fit = append(fit, f)
	}
	return fit
}

// shorten cuts a text to at most limit bytes on a character boundary.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// kept is what the claim knows of the files.
func kept(files []channel.File) (records []store.File) {
	for _, f := range files[:min(len(files), MaxFiles)] {
		records = append(records, store.File{Kind: string(f.Kind), Name: f.Name, Size: f.Size, Ref: f.Ref})
	}
	return records
}

// onlyVoice reports whether there are files, and all of them are words that nobody can read.
func onlyVoice(files []channel.File) bool {
	for _, f := range files {
		if f.Kind != channel.Voice {
			return false
		}
	}
	return len(files) > 0
}
