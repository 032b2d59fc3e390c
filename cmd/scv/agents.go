package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"scv/daemon/agent"
	"scv/daemon/config"
)

type agentsCmd struct {
	All  bool `help:"Print what to configure also for known agents that are not here."`
	JSON bool `help:"Print an array, one object per agent."`
}

func (*agentsCmd) Help() string {
	return "It reads config.toml and looks on the PATH of this shell; it asks no daemon. The daemon looks on its own PATH."
}

// agentRow is what is known of one agent.
type agentRow struct {
	Name       string  `json:"name"`
	Configured bool    `json:"configured"`      // in config.toml
	Driver     string  `json:"driver"`          // "" for a plain command
	Program    string  `json:"program"`         // as configured, or as people call it
	Path       *string `json:"path"`            // nil: not found
	Usable     bool    `json:"usable"`          // configured, and all that it needs is here
	ToolFree   bool    `json:"tool_free"`       // has a proven mode without tools
	Config     string  `json:"config,omitzero"` // what to put into config.toml
	home       string  // of the SCV that it is, where that home does not exist
}

func (c *agentsCmd) Run(a *app) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	cfg, err := config.Load(home)
	if err != nil {
		return failf(exitFailed, a.mending(err), "%w", err)
	}
	environ := []string{"PATH=" + a.getenv("PATH")}
	rows := configuredAgents(cfg, environ)
	rows = append(rows, knownAgents(rows, environ)...)
	if c.JSON {
		return a.printJSON(rows)
	}
	a.printAgents(rows, filepath.Join(home, config.Name), c.All)
	return nil
}

func configuredAgents(cfg config.Config, environ []string) []agentRow {
	commands := map[string]agent.Command{}
	for name, c := range cfg.Agents {
		commands[name] = agent.Command(c)
	}
	registry, lookPath := agent.FromConfig(commands, environ), agent.LookPath(environ)
	rows := []agentRow{}
	for _, name := range registry.Names() {
		configured, _ := registry.Get(name)
		row := agentRow{Name: name, Configured: true, Driver: commands[name].Driver, ToolFree: agent.ToolFree(configured)}
		if p, ok := configured.(interface{ Program() string }); ok {
			row.Program = p.Program()
		}
		if path, err := lookPath(row.Program); err == nil {
			row.Path = &path
		}
		err := agent.Ready(configured)
		if row.Usable = err == nil; errors.Is(err, agent.ErrNoHome) {
			row.home = commands[name].Home
		}
		rows = append(rows, row)
	}
	return rows
}

// knownAgents are the programs that could be configured and are not.
func knownAgents(configured []agentRow, environ []string) []agentRow {
	var rows []agentRow
	for _, found := range agent.Find(agent.LookPath(environ)) {
		uses := func(r agentRow) bool { return filepath.Base(r.Program) == found.Binary || r.Driver == found.Driver }
		if slices.ContainsFunc(configured, uses) {
			continue
		}
		row := agentRow{Name: found.Name, Driver: found.Driver, Program: found.Title, Config: found.Snippet}
		if a, ok := agent.FromConfig(map[string]agent.Command{found.Name: {Driver: found.Driver}}, environ).Get(found.Name); ok {
			row.ToolFree = agent.ToolFree(a)
		}
		if found.Path != "" {
			row.Path = &found.Path
		}
		rows = append(rows, row)
	}
	return rows
}

func (a *app) printAgents(rows []agentRow, file string, all bool) {
	t := table{}
	t.head("AGENT", "DRIVER", "PROGRAM", "PATH", "USABLE", "TOOL-FREE")
	for _, r := range rows {
		usable, look := "not configured", dim
		switch {
		case r.Usable:
			usable, look = "yes", good
		case r.home != "":
			usable, look = "no home", bad
		case r.Configured:
			usable, look = "not found", bad
		}
		t.row(cell{r.Name, plain}, cell{orDash(&r.Driver), plain}, cell{r.Program, plain}, cell{orDash(r.Path), plain}, cell{usable, look}, cell{yesNo(r.ToolFree), plain})
	}
	t.write(a.stdout, a.colour)
	a.adviseAgents(rows, file, all)
}

// adviseAgents says what is to be mended in the file, and what could be put into it.
func (a *app) adviseAgents(rows []agentRow, file string, all bool) {
	var configured, hidden bool
	for _, r := range rows {
		switch {
		case r.Usable:
			configured = true
		case r.home != "":
			configured = true
			a.say("\n%s: %s does not exist: mend home under [agents.%s] in %s, or begin that SCV: scv --home %s run",
				line(r.Name), line(r.home), line(r.Name), line(file), line(shellWord(r.home)))
		case r.Configured:
			configured = true
			a.say("\n%s is not on the PATH of this shell: install it, or mend command under [agents.%s] in %s", line(r.Program), line(r.Name), line(file))
		case r.Path != nil || all:
			a.say("\nto use %s, put this into %s, then: %s", line(r.Program), line(file), a.command("reload"))
			a.say("\n  %s", strings.ReplaceAll(strings.TrimSpace(body(r.Config)), "\n", "\n  "))
		default:
			hidden = true
		}
	}
	if !configured && !slices.ContainsFunc(rows, func(r agentRow) bool { return r.Path != nil }) {
		a.say("\nno agent was found; any program that reads a prompt and writes an answer will do. In %s:", line(file))
		a.say("\n  [agents.mine]\n  command = [\"my-agent\", \"--flag\"]\n  prompt = \"stdin\"")
	}
	if hidden {
		a.say("\nhow to configure the ones that are not here: %s", a.command("agents --all"))
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// warnOfAgent tells of an agent that was chosen and cannot be run as things are. The daemon's PATH may be
// another, so it is no error.
func (a *app) warnOfAgent(name string) {
	home, err := a.home()
	if err != nil {
		return
	}
	cfg, err := config.Load(home)
	if err != nil {
		return // the daemon goes on with what it had
	}
	for _, r := range configuredAgents(cfg, []string{"PATH=" + a.getenv("PATH")}) {
		switch {
		case r.Name != name || r.Usable:
		case r.home != "":
			a.note("the home of its SCV, %s, does not exist: see %s", line(r.home), a.command("agents"))
		default:
			a.note("%s is not on the PATH of this shell: see %s", line(r.Program), a.command("agents"))
		}
	}
}
