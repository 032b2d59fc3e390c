// Package restart takes the daemon over to another release and back, never to neither. The daemon's composition
// root comes in, and the hand for what must happen before there is a daemon (Boot) or outside of it (Guard).
//
// The files of a hand-over are its state (files.go). Every start obeys the rule of starts first of all
// (decide.go, boot.go). A new release is on probation (probation.go) under a guard that runs the old program
// (guard.go, rollback.go), until one of the two gives the one verdict (verdict.go). docs/restart.md draws it.
package restart
