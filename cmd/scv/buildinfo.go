package main

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// Stamped by the linker: -X main.version=1.2.3 -X main.commit=0123abc.
var version, commit string

// wireLevel counts the extensions of the language beside the seed's own types.
const wireLevel = 1

// build describes a binary. It is what a restart compares before it goes over to another one.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Schema  uint64 `json:"schema"` // newest store schema it can read
	Wire    uint64 `json:"wire"`
}

// thisBuild is this binary, as stamped or else as the Go tool recorded it.
func thisBuild() build {
	b := build{Version: version, Commit: commit, Schema: storeSchema(), Wire: wireLevel}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	b.Version = cmp.Or(b.Version, moduleVersion(info.Main.Version), "0.0.0-dev")
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			b.Commit = cmp.Or(b.Commit, setting.Value[:min(12, len(setting.Value))])
		}
	}
	b.Commit = cmp.Or(b.Commit, "unknown")
	return b
}

func moduleVersion(v string) string {
	if v == "(devel)" {
		return ""
	}
	return strings.TrimPrefix(v, "v")
}

type buildInfoCmd struct{}

// Run touches neither home nor configuration: it is run on binaries that are not yet trusted.
func (c *buildInfoCmd) Run(a *app) error { return a.printJSON(thisBuild()) }
