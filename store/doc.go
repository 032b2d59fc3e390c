// Package store is the memory: one bbolt file that holds every intention and every outcome. With
// migrations it is the only importer of bbolt. Nothing is acknowledged before its transaction is
// committed; what can be derived is not stored.
//
// A newcomer reads schema.go (the buckets), kinds.go (who may write what) and writer.go (how writes are
// grouped). A read gives what can be read: a record that cannot is left out, logged once by name, and at
// the next Open moved to quarantine, so one bad record never stops anything.
//
// The rooms of the daemon come in by View, Intend, Deliver and Observe. The functions they pass must be
// short and do no I/O: all writes wait behind one another, and a read that stays open while the file
// must grow holds them up. A function never calls View, Intend, Deliver or Observe itself. A function
// that writes may run more than once, so it sets its results at its top and touches nothing else outside.
package store
