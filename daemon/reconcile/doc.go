// Package reconcile is the loop that makes what runs equal to what should run. It is level-based: a wake
// carries no data; each pass reads everything that is desired, compares it with everything that runs
// (diff, pure) and applies the difference. What was missed once is therefore put right by the next pass.
//
// The daemon gives it the desired accounts and a maker of adapters as functions; it knows neither the
// store, nor the bus, nor any platform. One account has one instance at most: a new one starts only
// after the old one was joined, however long that takes. No account waits for another.
//
// The files: diff.go decides, component.go is the life of one account as a state machine, instance.go
// keeps one adapter running, loop.go does the passes, wait.go lets callers wait for them, health.go
// is what status shows.
package reconcile
