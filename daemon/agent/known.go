package agent

import "path/filepath"

// Program describes an agent that we know how to configure.
type Program struct {
	Name    string   // as an agent
	Binary  string   // on PATH
	Title   string   // as people call it
	Env     []string // its own keys and home, kept in its environment
	Snippet string   // for config.toml: run it once for each turn, tools auto-approved
}

// Found is a known program and where it was found.
type Found struct {
	Program
	Path string // "" when it is not on PATH
}

// Known lists the programs that we know. claude and codex were measured; gemini and opencode
// are as their own documentation says: each reads its prompt from a standard input that is no terminal.
func Known() []Program {
	return []Program{
		{
			Name: "claude", Binary: "claude", Title: "Claude Code",
			Env: []string{
				"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL",
				"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR",
			},
			Snippet: snippet("claude", `["claude", "-p", "--dangerously-skip-permissions"]`),
		},
		{
			Name: "codex", Binary: "codex", Title: "Codex",
			Env:     []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_HOME"},
			Snippet: snippet("codex", `["codex", "exec", "--skip-git-repo-check", "--sandbox", "workspace-write", "-"]`),
		},
		{
			Name: "gemini", Binary: "gemini", Title: "Gemini CLI",
			Env: []string{
				"GEMINI_API_KEY", "GEMINI_MODEL", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS",
				"GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_PROJECT", "GOOGLE_GENAI_USE_VERTEXAI",
			},
			Snippet: snippet("gemini", `["gemini", "--approval-mode", "yolo", "--skip-trust"]`),
		},
		{
			Name: "opencode", Binary: "opencode", Title: "OpenCode",
			Env:     []string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR"},
			Snippet: snippet("opencode", `["opencode", "run"]`),
		},
	}
}

func snippet(name, command string) string {
	return "[agents." + name + "]\ncommand = " + command + "\nprompt = \"stdin\"\n"
}

// Find looks for every known program. lookPath is LookPath, or a test's.
func Find(lookPath func(string) (string, error)) []Found {
	var found []Found
	for _, p := range Known() {
		path, err := lookPath(p.Binary)
		if err != nil {
			path = ""
		}
		found = append(found, Found{p, path})
	}
	return found
}

// knownBy finds the description of a configured program by its file name.
func knownBy(program string) (Program, bool) {
	for _, p := range Known() {
		if p.Binary == filepath.Base(program) {
			return p, true
		}
	}
	return Program{}, false
}
