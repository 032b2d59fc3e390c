package agent

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"
)

// toolInput is what a tool is called with, as far as a person wants to know.
type toolInput struct {
	words map[string]string
}

// UnmarshalJSON takes the members that are strings; tools are free in what they have besides.
func (in *toolInput) UnmarshalJSON(b []byte) error {
	var all map[string]jsontext.Value
	if !readJSON(b, &all) {
		return nil // not an object: nothing to tell
	}
	in.words = map[string]string{}
	for key, raw := range all {
		var text string
		if readJSON(raw, &text) {
			in.words[key] = text
		}
	}
	return nil
}

// first is the first of these that is given.
func (in toolInput) first(keys ...string) string {
	for _, key := range keys {
		if in.words[key] != "" {
			return in.words[key]
		}
	}
	return ""
}

// progress is a line on the use of a tool. The names are those of Claude Code, the Gemini CLI and OpenCode.
func (in toolInput) progress(tool string) string {
	path := in.first("file_path", "filePath", "absolute_path", "path", "dir_path", "notebook_path")
	verb, what := "", ""
	switch tool {
	case "Bash", "bash", "run_shell_command":
		verb, what = "runs: ", in.first("command")
	case "Read", "read", "read_file", "list_directory", "list":
		verb, what = "reads: ", path
	case "Edit", "edit", "replace", "NotebookEdit":
		verb, what = "edits: ", path
	case "Write", "write", "write_file":
		verb, what = "writes: ", path
	case "Grep", "grep", "grep_search", "Glob", "glob", "WebSearch", "google_web_search", "websearch":
		verb, what = "searches: ", in.first("query", "pattern")
	case "WebFetch", "webfetch", "web_fetch":
		verb, what = "fetches: ", in.first("url", "prompt")
	}
	if what == "" {
		verb, what = "uses: ", cmp.Or(tool, "a tool")
	}
	return oneLine(verb, what)
}
