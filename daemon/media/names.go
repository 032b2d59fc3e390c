package media

import (
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"scv/daemon/channel"
)

// maxName is the longest name of a file that we make, in bytes.
const maxName = 100

// SafeName makes one harmless element of a path of what somebody calls a file: no separator, nothing that
// controls a terminal or turns text around, no leading dot, valid UTF-8. It is "" where nothing is left.
func SafeName(name string) string {
	name = strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/")
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimSpace(strings.TrimLeft(name, ". "))
	return shorten(name, maxName)
}

// shorten cuts a name to at most limit bytes and leaves its extension.
func shorten(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	ext := filepath.Ext(name)
	if len(ext) > limit/2 {
		ext = ""
	}
	stem := name[:limit-len(ext)]
	for !utf8.ValidString(stem) {
		stem = stem[:len(stem)-1]
	}
	return stem + ext
}

// Names gives the files of one message names of their own, the same ones whenever it is asked.
func Names(files []channel.File) []string {
	taken := map[string]bool{}
	names := make([]string, 0, len(files))
	for _, f := range files {
		name := SafeName(f.Name)
		if name == "" {
			name = SafeName(string(f.Kind))
		}
		if name == "" {
			name = "file"
		}
		name = unique(name, taken)
		taken[strings.ToLower(name)] = true
		names = append(names, name)
	}
	return names
}

// unique makes a name that is not taken, also not in another case: some file systems know none.
func unique(name string, taken map[string]bool) string {
	ext := filepath.Ext(name)
	for n, own := 2, name; ; n++ {
		if !taken[strings.ToLower(own)] {
			return own
		}
		tail := "-" + strconv.Itoa(n) + ext
		own = shorten(strings.TrimSuffix(name, ext), maxName-len(tail)) + tail
	}
}

// extensions are those of what programs know by its name alone.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
	"video/mp4": ".mp4", "application/ogg": ".ogg", "application/pdf": ".pdf",
}

// kinds are what platforms show as more than a document.
var kinds = map[string]channel.FileKind{
	"image/png": channel.Image, "image/jpeg": channel.Image, "image/gif": channel.Image, "image/webp": channel.Image,
	"video/mp4": channel.Video,
}

// headBytes of a file say what it is.
const headBytes = 512

// kindOf says how a platform shows a file that begins so.
func kindOf(head []byte) channel.FileKind {
	if kind, known := kinds[http.DetectContentType(head)]; known {
		return kind
	}
	return channel.Document
}
