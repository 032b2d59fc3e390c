// Package migrations is the past: the ordered steps that bring a store of any earlier schema to the
// newest one. Each step is one transaction and owns frozen copies of the names and shapes it touches,
// so that a later change of the store cannot change what an old step did. With store it is the only
// importer of bbolt; only store, and tests, come in.
package migrations
