// Package config reads config.toml, which holds what a person edits by hand. The daemon never writes it:
// what the daemon changes itself is in the store. It knows no other room; whoever needs a setting is
// handed its plain value.
package config

import (
	"log/slog"
	"time"
)

// Name of the file in the home.
const Name = "config.toml"

// MaxBytes is the largest file read (docs/rules.md §10).
const MaxBytes = 1 << 20

// Defaults; why each has its value is in docs/rules.md §10.
const (
	DefaultMaxDepth    = 2
	DefaultOwnerTurn   = 4*time.Hour + 5*time.Minute
	DefaultOthersTurn  = 300 * time.Second
	DefaultConcurrent  = 4 // turns at once in one account
	DefaultProgress    = 15 * time.Second
	DefaultOwnerMax    = 50 // MiB of a file
	DefaultOthersImage = 5  // MiB
	DefaultKeepDays    = 365
	DefaultLogLevel    = slog.LevelInfo
	DefaultReconcile   = 2 * time.Second
	DefaultStopGrace   = 5 * time.Second
	DefaultBackoffMin  = 1 * time.Second
	DefaultBackoffMax  = 60 * time.Second
	DefaultStableAfter = 60 * time.Second
	DefaultIdleClose   = 30 * time.Minute
)

// Config is the whole file, checked, with defaults filled in.
type Config struct {
	Workspace   string           // absolute; "" is <home>/workspace. See CheckFolder
	Agents      map[string]Agent // by name, never nil
	Notify      Notify
	Delegations Delegations
	Turns       Turns
	Media       Media
	Log         Log
	Timing      Timing
	Feishu      Platform // which is Lark too
	WeChat      Platform
}

// Agent is a program that answers.
type Agent struct {
	Driver  string   // one of Drivers; "" is a plain command that is run once for each turn
	Command []string // the program, by name or absolute path, and its arguments; empty is the driver's own
	Prompt  string   // "stdin" or "arg" for a plain command, "" else
	Env     []string // names of further environment variables it gets
	Home    string   // of the SCV that the driver "scv" talks to: absolute
}

// Notify says which owner chats hear of things, first to last.
type Notify struct {
	Owner []string // component ids
}

// Delegations bounds delegated runs.
type Delegations struct {
	MaxDepth int // of runs within runs; 0 allows none
}

// Turns bounds an agent's turns.
type Turns struct {
	Owner      time.Duration // of the owner, with tools
	Others     time.Duration // of everyone else
	Concurrent int           // at once in one account
	Progress   time.Duration // of the owner, after which the chat hears what the agent does; 0 is never
}

// Media bounds the files that come with messages.
type Media struct {
	OwnerMax       int // MiB of a file from the owner; 0 fetches nothing at all
	OthersImageMax int // MiB of a picture from anybody else, of whom nothing else is fetched; 0 is none
	KeepDays       int // how long they are kept
}

// Log says what is logged.
type Log struct {
	Level slog.Level
}

// Timing is the daemon's own rhythm. It is there for tests, which must wait for these.
type Timing struct {
	Reconcile   time.Duration // between passes over the accounts
	StopGrace   time.Duration // for an adapter to stop
	BackoffMin  time.Duration // first delay before an account is tried again
	BackoffMax  time.Duration // longest delay
	StableAfter time.Duration // a run this long takes the delay to its first step
	IdleClose   time.Duration // a live agent without a turn for so long is closed
}

// Platform is about the channel of a chat platform.
type Platform struct {
	StandIn string // origin of a fake platform on this machine, for tests and the demo; "" is the real one
}

// Default is what holds without a file.
func Default() Config {
	return Config{
		Agents:      map[string]Agent{},
		Delegations: Delegations{MaxDepth: DefaultMaxDepth},
		Turns: Turns{
			Owner: DefaultOwnerTurn, Others: DefaultOthersTurn, Concurrent: DefaultConcurrent, Progress: DefaultProgress,
		},
		Media: Media{OwnerMax: DefaultOwnerMax, OthersImageMax: DefaultOthersImage, KeepDays: DefaultKeepDays},
		Log:   Log{Level: DefaultLogLevel},
		Timing: Timing{
			Reconcile: DefaultReconcile, StopGrace: DefaultStopGrace,
			BackoffMin: DefaultBackoffMin, BackoffMax: DefaultBackoffMax, StableAfter: DefaultStableAfter,
			IdleClose: DefaultIdleClose,
		},
	}
}
