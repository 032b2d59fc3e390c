// Package wire is the language of SCV: the messages that travel between a hand (the scv command) and
// the daemon, with their exact JSON, subjects, limits and error codes. It knows no transport, no store
// and no rule; every other room may come in.
//
// Encoding keeps the order of the fields and escapes no HTML. Decoding is strict: keys are
// case-sensitive, a duplicate key, a missing required key, null in its place, an inexact integer,
// invalid UTF-8 and trailing data are errors; unknown keys are ignored.
package wire
