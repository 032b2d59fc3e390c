package main

import (
	"path/filepath"
	"slices"

	"scv/daemon/config"
	"scv/wire"
)

// lookAtConfig reads config.toml as a daemon would at its start.
func (p *patient) lookAtConfig() []finding {
	cfg, err := config.Load(p.home)
	if err != nil {
		return []finding{{"config", broke, err.Error(), p.a.mending(err)}}
	}
	if cfg.Workspace != "" {
		if err := config.CheckFolder(cfg.Workspace); err != nil {
			return []finding{{"config", broke, err.Error(), "make the folder, or change workspace in " + filepath.Join(p.home, config.Name)}}
		}
	}
	return []finding{{"config", fine, "can be used", ""}}
}

// lookAtNotify looks for the accounts that [notify] names among those of the daemon: one that is misspelt, or
// not signed in yet, is passed over in silence whenever the owner is asked something.
func (p *patient) lookAtNotify(accounts []wire.ComponentHealth) []finding {
	cfg, err := config.Load(p.home)
	if err != nil {
		return nil // told already
	}
	var found []finding
	for _, id := range cfg.Notify.Owner {
		if !slices.ContainsFunc(accounts, func(h wire.ComponentHealth) bool { return h.ID == id }) {
			found = append(found, finding{
				"config", shaky, "[notify] names " + id + ", and there is no such account, so nothing is asked or told there",
				"compare it with " + p.a.command("channels") + ", and mend owner in " + filepath.Join(p.home, config.Name) + ", then: " + p.a.command("reload"),
			})
		}
	}
	return found
}

// lookAtAgents looks for the configured programs on the PATH of this shell.
func (p *patient) lookAtAgents() []finding {
	cfg, err := config.Load(p.home)
	if err != nil {
		return nil // told already
	}
	var found []finding
	for _, r := range configuredAgents(cfg, []string{"PATH=" + p.a.getenv("PATH")}) {
		if r.Usable {
			found = append(found, finding{"agent", fine, r.Name + " is " + *r.Path, ""})
			continue
		}
		if r.home != "" {
			found = append(found, finding{
				"agent", broke, r.Name + ": the home of its SCV, " + r.home + ", does not exist",
				"mend home under [agents." + r.Name + "] in " + filepath.Join(p.home, config.Name) + ", or begin that SCV: scv --home " + shellWord(r.home) + " run",
			})
			continue
		}
		found = append(found, finding{
			"agent", broke, r.Name + ": " + r.Program + " is not on the PATH of this shell",
			"install it, or write its whole path into " + filepath.Join(p.home, config.Name),
		})
	}
	if found == nil {
		found = []finding{{"agent", shaky, "none is configured, so no message can be answered", "see " + p.a.command("agents")}}
	}
	return found
}
