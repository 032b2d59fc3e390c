// Package transport is the daemon's door: an embedded NATS server without any TCP listener, and a Unix
// socket before it. It is the only importer of nats-server. The daemon's composition root may come in,
// and tests of rooms that answer requests.
//
// The kernel says who connects; the decision about that peer is made once, at accept, and carried as
// the verified user of every request. Nothing a client writes reaches the server unread: its CONNECT
// is made anew with a one-time password, and the gate lets only well-formed operations through, with
// replies to its own inbox and without headers that the server or the daemon would take for their own.
//
// Two accounts are joined by one shared service import per subject: a client can publish requests and
// read events, and can neither answer a request nor read another's inbox.
package transport
