// Package bus carries the language of SCV over NATS: a typed client for the hands, a services-API
// server for the daemon, and events. It is the only importer of nats.go. The CLI and the daemon may
// come in; the rooms between them speak package wire and know no bus.
//
// A client reaches the daemon by a Unix socket (SocketPath); who may do what is decided behind it, by
// the verified user of each request. See daemon/transport for the other end.
package bus
