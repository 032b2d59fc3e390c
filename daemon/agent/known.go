package agent

import "path/filepath"

// Program describes an agent that we know how to configure.
type Program struct {
	Name    string   // as an agent
	Driver  string   // see Drivers
	Binary  string   // on PATH
	Title   string   // as people call it
	Env     []string // its own keys and home, kept in its environment
	Snippet string   // for config.toml; with it the agent uses its tools without asking
}

// Found is a known program and where it was found.
type Found struct {
	Program
	Path string // "" when it is not on PATH
}

var (
	claudeEnv = []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL",
		"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR",
	}
	codexEnv  = []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_HOME"}
	geminiEnv = []string{
		"GEMINI_API_KEY", "GEMINI_MODEL", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS",
		"GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_PROJECT", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI",
	}
	opencodeEnv = []string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR"}
)

// Known lists the programs that we know. Their drivers were written by what the real programs do:
// Codex 0.171.0, Claude Code 2.1.332, Gemini CLI 0.61.0, OpenCode 1.18.33. What the first two do is tried
// anew by `make test-agents`; the streams of all four, recorded from the programs, are in testdata.
func Known() []Program {
	return []Program{
		{Name: "claude", Driver: "claude", Binary: "claude", Title: "Claude Code", Env: claudeEnv, Snippet: snippet("claude")},
		{Name: "codex", Driver: "codex", Binary: "codex", Title: "Codex", Env: codexEnv, Snippet: snippet("codex")},
		{Name: "gemini", Driver: "gemini", Binary: "gemini", Title: "Gemini CLI", Env: geminiEnv, Snippet: snippet("gemini")},
		{Name: "opencode", Driver: "opencode", Binary: "opencode", Title: "OpenCode", Env: opencodeEnv, Snippet: snippet("opencode")},
	}
}

func snippet(name string) string { return "[agents." + name + "]\ndriver = \"" + name + "\"\n" }

// adapters speak the Agent Client Protocol for a known program, with that one's keys.
var adapters = map[string][]string{"codex-acp": codexEnv, "claude-agent-acp": claudeEnv, "claude-code-acp": claudeEnv}

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

// ownEnv is what a configured program is known to need of its own, by its driver or its file name.
func ownEnv(driver, program string) []string {
	base := filepath.Base(program)
	for _, p := range Known() {
		if p.Driver == driver || p.Binary == base {
			return p.Env
		}
	}
	return adapters[base]
}
