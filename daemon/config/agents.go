package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Drivers are the programs that SCV knows how to talk to, by the name that config.toml calls them.
func Drivers() []string { return []string{"acp", "claude", "codex", "gemini", "opencode", "scv"} }

func agents(f file, c *Config, at lines) error {
	for _, name := range slices.Sorted(maps.Keys(f.Agents)) {
		key := "agents." + name
		if !ValidAgentName(name) {
			return at.wrong(key, "a name has 1 to 32 letters, digits, _ and -")
		}
		a := Agent{Command: f.Agents[name].Command, Env: f.Agents[name].Env}
		for _, part := range []func(agentFile, *Agent, lines, string) error{driver, prompt, command, env, nestedHome} {
			if err := part(f.Agents[name], &a, at, key); err != nil {
				return err
			}
		}
		c.Agents[name] = a
	}
	return nil
}

func driver(f agentFile, a *Agent, at lines, key string) error {
	if f.Driver == nil {
		return nil
	}
	if a.Driver = *f.Driver; !slices.Contains(Drivers(), a.Driver) {
		return at.wrong(key+".driver", "it is one of %s; leave the key out for any other command", strings.Join(Drivers(), ", "))
	}
	return nil
}

// prompt is how a plain command is told its task. A driver knows that itself.
func prompt(f agentFile, a *Agent, at lines, key string) error {
	switch {
	case a.Driver != "" && f.Prompt != nil:
		return at.wrong(key+".prompt", "it is for commands without a driver: the driver knows how to give the prompt; leave the key out")
	case a.Driver != "":
		return nil
	case f.Prompt == nil:
		a.Prompt = "stdin"
	case *f.Prompt != "stdin" && *f.Prompt != "arg":
		return at.wrong(key+".prompt", `it is "stdin" or "arg"`)
	default:
		a.Prompt = *f.Prompt
	}
	return nil
}

// command may be left out where the driver knows its program.
func command(f agentFile, a *Agent, at lines, key string) error {
	if f.Command == nil && a.Driver != "" && a.Driver != "acp" {
		return nil
	}
	if f.Command == nil {
		return at.missing(key+".command", badCommand(nil))
	}
	if why := badCommand(a.Command); why != "" {
		return at.wrong(key+".command", "%s", why)
	}
	return nil
}

func env(_ agentFile, a *Agent, at lines, key string) error {
	for _, v := range a.Env {
		if !isVariable(v) || strings.HasPrefix(v, "SCV_") {
			return at.wrong(key+".env", "it lists names of environment variables, none of them SCV_*")
		}
	}
	return nil
}

// nestedHome is whose chat the driver "scv" writes in: another SCV's, not ours.
func nestedHome(f agentFile, a *Agent, at lines, key string) error {
	switch {
	case a.Driver != "scv" && f.Home != nil:
		return at.wrong(key+".home", `it is for driver = "scv"; leave the key out`)
	case a.Driver != "scv":
		return nil
	case f.Home == nil:
		return at.missing(key+".home", `it names the home of the SCV that is the agent, as "/home/me/.scv-work"`)
	case unexpanded(*f.Home) != "":
		return at.wrong(key+".home", `%s: write the whole path, as "/home/me/.scv-work"`, unexpanded(*f.Home))
	case !filepath.IsAbs(*f.Home) || strings.ContainsRune(*f.Home, 0):
		return at.wrong(key+".home", `it is an absolute path, as "/home/me/.scv-work"`)
	}
	a.Home = filepath.Clean(*f.Home)
	return nil
}

// unexpanded is why a path that a shell would read otherwise is none here; "" where it is plain.
func unexpanded(path string) string {
	switch {
	case path == "~" || strings.HasPrefix(path, "~/"):
		return "~ is not expanded here"
	case strings.HasPrefix(path, "$"):
		return "variables are not expanded here"
	}
	return ""
}

// commandExample shows how a command is written.
const commandExample = `as ["claude", "-p"]`

func badCommand(command []string) string {
	switch {
	case len(command) == 0:
		return "it lists the program and its arguments, " + commandExample
	case command[0] == "":
		return "the program, its first word, is empty; it is " + commandExample
	case strings.ContainsRune(strings.Join(command, ""), 0):
		return "it contains a NUL"
	case unexpanded(command[0]) != "":
		return unexpanded(command[0]) + `: write the whole path, as ["/home/me/bin/my-agent"]`
	case strings.ContainsRune(command[0], '/') && !filepath.IsAbs(command[0]):
		return "the program is a name on PATH or an absolute path"
	}
	return ""
}
