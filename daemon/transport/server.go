package transport

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"scv/daemon/caller"
	"scv/wire"
)

const (
	readyTimeout = 5 * time.Second
	drainTimeout = time.Second // for last replies on their way to slow clients
	maxSubs      = 1024        // of one connection; a client has one for each request under way and each watch
)

// Peer is who is at the other end of one connection, decided when it was accepted.
type Peer struct {
	PID     int
	Start   uint64 // as caller.Link.Start: with PID it names the process for good
	UID     int
	Verdict caller.Verdict
}

// Options of a server.
type Options struct {
	Log                 *slog.Logger
	SocketPath          string                   // "": no socket, for tests
	Identify            func(*net.UnixConn) Peer // asked once for each connection; needed with a socket
	PID                 func(*net.UnixConn) int  // who connects, told at once, 0 for unknown; nil: always
	EventSubjectsInside []string                 // events that a peer inside a delegated run may read
	// Entitled is asked before a socket that was removed is made anew: an error says that another may
	// have taken the place. Nil: always.
	Entitled func() error
	// Listener is the socket that the program before us in this process has left open (Leave), nil for none.
	Listener *os.File
}

// Server is a running transport.
type Server struct {
	log      *slog.Logger
	options  Options
	nats     *server.Server
	pass     string // of the user daemon
	daemon   *server.Account
	clients  *server.Account
	registry registry
	looks    chan struct{} // has an element for each look at a newcomer
	greeting func() ([]byte, error)
	stop     chan struct{}  // closed by Close; nil without a socket
	ended    sync.Once      // closes stop
	leaving  atomic.Bool    // the socket goes on to the next program
	left     *os.File       // it, set before tasks are done
	tasks    sync.WaitGroup // the accept loop, the keeper of the socket, and one for each connection
}

// Start is New and, where the options name a socket, Open.
func Start(ctx context.Context, o Options) (*Server, error) {
	s, err := New(ctx, o)
	if err != nil || o.SocketPath == "" {
		return s, err
	}
	if err := s.Open(o.Identify); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// New brings the server up. Nobody but the daemon itself can reach it yet. ctx bounds the start only.
func New(ctx context.Context, o Options) (*Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Server{log: o.Log, options: o, pass: secret(), registry: newRegistry()}
	s.looks = make(chan struct{}, s.registry.looks)
	s.greeting = sync.OnceValues(s.readGreeting)
	if err := s.startNATS(); err != nil {
		return nil, err
	}
	return s, nil
}

// Open opens the socket, once; identify tells who connects. The caller holds daemon.lock: a stale socket
// is removed here.
func (s *Server) Open(identify func(*net.UnixConn) Peer) error {
	if identify == nil {
		return errors.New("cannot open a socket without a way to tell who connects")
	}
	s.options.Identify = identify
	return s.openSocket()
}

func (s *Server) startNATS() error {
	daemon, clients := server.NewAccount("DAEMON"), server.NewAccount("CLIENTS")
	ns, err := server.NewServer(&server.Options{
		ServerName:                 "scv",
		DontListen:                 true,
		NoSigs:                     true, // it would exit the process on SIGTERM
		NoSystemAccount:            true,
		NoFastProducerStall:        true, // a client that does not read must not slow the daemon
		Accounts:                   []*server.Account{daemon, clients},
		CustomClientAuthentication: (*authentication)(s),
		AuthTimeout:                2 * connectTimeout.Seconds(), // the gate's own is shorter
		MaxControlLine:             2 * maxLine,                  // our CONNECT is longer than the client's
		MaxPayload:                 wire.MaxReply,
		MaxSubs:                    maxSubs,
	})
	if err != nil {
		return fmt.Errorf("cannot make the embedded server: %w", err)
	}
	ns.SetLoggerV2(natsLog{s.log}, false, false, false)
	s.nats = ns
	if err := s.joinAccounts(); err != nil {
		return fmt.Errorf("cannot join the accounts of the embedded server: %w", err)
	}
	ns.Start()
	if !ns.ReadyForConnections(readyTimeout) {
		s.Close()
		return errors.New("the embedded server does not come up")
	}
	return nil
}

// servicePings are the services API's own questions that a client may ask. Its statistics are left
// out: they quote the last refusal, which is another client's business.
var servicePings = []string{"$SRV.PING", "$SRV.PING.scv", "$SRV.INFO", "$SRV.INFO.scv"}

func publishable() []string { return append(wire.RequestSubjects(), servicePings...) }

// joinAccounts makes each request subject a service of the daemon's account, imported by the clients'
// with sharing on, so that the server adds the verified user to every request.
func (s *Server) joinAccounts() (err error) {
	if s.daemon, err = s.nats.LookupAccount("DAEMON"); err != nil {
		return err
	}
	if s.clients, err = s.nats.LookupAccount("CLIENTS"); err != nil {
		return err
	}
	for _, subject := range wire.RequestSubjects() {
		if err := s.daemon.AddServiceExport(subject, nil); err != nil {
			return err
		}
		if err := s.clients.AddServiceImport(s.daemon, subject, subject); err != nil {
			return err
		}
		if err := s.clients.SetServiceImportSharing(s.daemon, subject, true); err != nil {
			return err
		}
	}
	for _, subject := range servicePings {
		if err := s.daemon.AddServiceExportWithResponse(subject, server.Streamed, nil); err != nil {
			return err
		}
		if err := s.clients.AddServiceImport(s.daemon, subject, subject); err != nil {
			return err
		}
	}
	if err := s.daemon.AddStreamExport(allEvents, nil); err != nil {
		return err
	}
	return s.clients.AddStreamImport(s.daemon, allEvents, "")
}

// DaemonConn is a connection for the daemon itself, as the user daemon with DaemonPassword.
func (s *Server) DaemonConn() (net.Conn, error) { return s.nats.InProcessConn() }

// DaemonPassword is new at each start and leaves the process never.
func (s *Server) DaemonPassword() string { return s.pass }

// Peer is who sent a request, by its verified user; false once that connection has ended, and then
// nothing may be granted.
func (s *Server) Peer(user string) (Peer, bool) { return s.registry.peer(user) }

// SocketPath is where the server listens, "" without a socket.
func (s *Server) SocketPath() string { return s.options.SocketPath }

// DialAs is a connection as a client at the socket has it, for tests: the peer is given, not found,
// and runs as our own user.
func (s *Server) DialAs(p Peer) (net.Conn, error) {
	p.UID = os.Getuid()
	near, far := net.Pipe()
	c, err := s.registry.admit(far, p.PID)
	if err != nil {
		return nil, errors.Join(err, near.Close(), far.Close())
	}
	s.serve(c, func() Peer { return p })
	return near, nil
}

// Close takes no more connections, lets last replies out, and ends what is left. It may be called
// again.
func (s *Server) Close() {
	s.registry.close()
	if s.stop != nil {
		s.ended.Do(func() { close(s.stop) })
	}
	s.nats.Shutdown() // ends its side of every connection once it is flushed
	s.nats.WaitForShutdown()
	ended := make(chan struct{})
	go func() {
		s.tasks.Wait()
		close(ended)
	}()
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		s.registry.cutAll()
		<-ended
	}
}

// Leave is Close for a daemon that becomes another program: the socket stays open, and who connects from now
// on waits in it for that program. Nil where there is none, or it cannot be kept; the path is free then.
func (s *Server) Leave() *os.File {
	s.leaving.Store(true)
	s.Close()
	return s.left
}

// secret is 128 random bits.
func secret() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// ours reports whether a peer runs as the daemon's own user.
func (p Peer) ours() bool { return p.UID == os.Getuid() }
