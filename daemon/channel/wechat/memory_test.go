package wechat

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"scv/daemon/channel"
	"scv/daemon/channel/wechat/wechattest"
)

const (
	crowd     = 128      // accounts at most
	memoryFor = 64 << 10 // bytes of memory for one that waits in a long poll
	apartMode = "SCV_TEST_PLATFORM_APART"
)

// apart is what a platform in another process tells of itself.
type apart struct {
	URL  string
	Cert []byte
	Bots []wechattest.Bot
}

// beApart is that process: it tells where it is, and when it holds a poll of every bot, until its input ends.
func beApart() error {
	p, err := wechattest.Start(wechattest.Options{Bots: make([]wechattest.Bot, crowd)})
	if err != nil {
		return err
	}
	defer p.Close()
	told, err := json.Marshal(apart{p.URL(), p.CertPEM(), p.Bots()})
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", told)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err = p.Await(ctx, func() bool {
		held := 0
		for _, b := range p.Bots() {
			held += p.Polls(b.ID)
		}
		return held == crowd
	})
	fmt.Println(err)
	_, _ = io.Copy(io.Discard, os.Stdin) // its end is what is waited for
	return err
}

// startApart starts it. What it prints next is heard by next.
func startApart(t *testing.T) (a apart, next func() string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), apartMode+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the platform: %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	next = func() string { lines.Scan(); return lines.Text() }
	if err := json.Unmarshal([]byte(next()), &a); err != nil {
		t.Fatal(err)
	}
	return a, next
}

// client is the one that all accounts share, for which every host is there.
func (a apart) client(t *testing.T) *http.Client {
	t.Helper()
	at, err := url.Parse(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := channel.NewHTTP()
	transport := client.Transport.(*http.Transport)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.Cert)
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, at.Host)
	}
	return client
}

// An account that waits in a long poll costs little, each with a TLS connection of its own: as many as there may be
// are no burden, also where they all begin at once. Only the client's side runs in this process.
func TestIdleAccountsAreCheap(t *testing.T) {
	a, next := startApart(t)
	client := a.client(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer client.CloseIdleConnections()
	defer running.Wait()
	defer cancel()
	begin := func(bots []wechattest.Bot) {
		contacts := make(chan error, 4*len(bots)) // of the first sign of life and of the polls before news
		for _, b := range bots {
			adapter := New(Options{
				Account:     channel.Account{Channel: "wechat", Name: "default", OwnerID: b.Owner},
				Credentials: Credentials{Token: b.Token, BaseURL: publicAPI, BotID: b.ID, UserID: b.Owner},
				HTTP:        client, Log: slog.New(slog.DiscardHandler),
				Host: channel.Host{
					Cursor:    func() (string, error) { return "", nil },
					ReceiveTo: func(context.Context, []channel.Message, string) error { return nil },
					Contact: func(err error) {
						select {
						case contacts <- err:
						default:
						}
					},
				},
			})
			running.Go(func() {
				if err := adapter.Serve(ctx); err != nil {
					t.Errorf("Serve: %v", err)
				}
			})
		}
		for range bots {
			if err := <-contacts; err != nil {
				t.Fatalf("no contact: %v", err)
			}
		}
	}
	begin(a.Bots[:1]) // with what is needed once
	before := inUse()
	begin(a.Bots[1:])
	if said := next(); said != "<nil>" {
		t.Fatalf("the platform does not hold %d polls: %s", crowd, said)
	}
	each := (inUse() - before) / (crowd - 1)
	t.Logf("%d bytes for each account", each)
	if each > memoryFor {
		t.Errorf("%d bytes for each account, more than %d", each, memoryFor)
	}
}

// inUse is what the heap and the stacks hold, once nothing is left to be freed.
func inUse() int64 {
	var m runtime.MemStats
	for range 3 { // stacks shrink by half in each
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
