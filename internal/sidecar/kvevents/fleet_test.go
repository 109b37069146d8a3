package kvevents

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// fleet is a subscriber with its pool and its engines.
type fleet struct {
	t          *testing.T
	pool       *pool.Pool
	subscriber *Subscriber
	servers    []*server
	log        *harness.Log
}

// server is an engine with its publisher, and the page that says where that is.
type server struct {
	*cacheModel
	publisher *kvpub.Publisher
	http      *httptest.Server
	name      string
	address   string
	form      kvpub.Form
}

type source0 struct{}

func (source0) Name() string                                             { return "test" }
func (source0) Run(context.Context, func(part topology.Part, err error)) {}

func newFleet(t *testing.T, change func(c *Config), names ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, log: &harness.Log{}}
	log := slog.New(slog.NewTextHandler(io.MultiWriter(f.log), &slog.HandlerOptions{Level: slog.LevelDebug}))
	f.pool = pool.New(log, engine.Known, []topology.Discovery{source0{}})
	f.pool.Start = func(ctx context.Context, _ *pool.Target) { <-ctx.Done() }
	c := Config{TopicFilter: DefaultTopicFilter, Concurrency: DefaultConcurrency, DiscoverPods: true,
		SocketPort: DefaultSocketPort}
	if change != nil {
		change(&c)
	}
	f.subscriber = &Subscriber{Config: c, Index: newIndex(t), Pool: f.pool, Log: log}
	if err := f.subscriber.Open(); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		f.servers = append(f.servers, newServer(t, name, uint64(i)))
	}
	return f
}

func newServer(t *testing.T, name string, seed uint64) *server {
	s := &server{cacheModel: newEngine(rand.New(rand.NewPCG(seed, 9)), 4), name: name, form: kvpub.Maps}
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != sourcesPath || s.publisher == nil || s.publisher.Address() == "" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"0":{"publisher":"zmq","endpoint":"tcp://*:%s","replay_endpoint":%s}}`,
			portOf(s.publisher.Address()), quotedPort(s.publisher.ReplayAddress()))
	}))
	t.Cleanup(s.http.Close)
	s.address = s.http.Listener.Addr().String()
	return s
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

func quotedPort(address string) string {
	if address == "" {
		return "null"
	}
	return `"tcp://*:` + portOf(address) + `"`
}

// publishes starts the server's publisher.
func (s *server) publishes(t *testing.T, change func(o *kvpub.Options)) {
	t.Helper()
	o := kvpub.Options{Listen: "127.0.0.1:0", Replay: "127.0.0.1:0", Topic: "kv@" + s.address + "@m"}
	if change != nil {
		change(&o)
	}
	var err error
	if s.publisher, err = kvpub.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.publisher.Close)
}

// does has the engine do something, and publish it in one batch.
func (s *server) does(steps int) {
	for range steps {
		s.step()
	}
	s.publisher.Publish(kvpub.AppendBatch(nil, s.form, float64(time.Now().UnixNano())/1e9, 0, s.events))
	s.events = nil
}

// run follows the endpoints of all servers.
func (f *fleet) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.subscriber.Run(ctx)
	}()
	f.t.Cleanup(func() {
		cancel()
		<-done
	})
	f.are(f.servers...)
}

// are makes these the pool's endpoints.
func (f *fleet) are(servers ...*server) {
	var part topology.Part
	for _, s := range servers {
		part.Endpoints = append(part.Endpoints, topology.Endpoint{
			Endpoint: snapshot.Endpoint{Name: s.name, Address: s.address}})
	}
	f.pool.Update(f.t.Context(), 0, part, nil)
}

// wait waits until something holds.
func (f *fleet) wait(what string, holds func() bool) {
	f.t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("waited in vain for %s; %s\n%v\n%s", what, f.subscriber.Summary(), f.subscriber.Now(),
				f.log.String())
		}
	}
}

// entries is how many blocks there are with what a server has.
func (s *server) entries() int64 { return int64(len(s.blocks)) }

// agrees waits until the index has what the servers have, and no more.
func (f *fleet) agrees(when string, servers ...*server) {
	f.t.Helper()
	f.wait(when, func() bool {
		want := int64(0)
		for _, s := range servers {
			want += s.entries()
			if s.differs(f.subscriber.Index, s.name) != nil {
				return false
			}
		}
		return f.subscriber.Index.Stats().Entries == want
	})
}

func (f *fleet) count(s *server) *counts {
	found := &counts{}
	f.subscriber.each(func(sub *subscription) {
		if sub.stream.name.Endpoint == s.name {
			found = sub.stream.counts
		}
	})
	return found
}

func addressOf(t *testing.T, text string) netip.AddrPort {
	t.Helper()
	address, err := netip.ParseAddrPort(text)
	if err != nil {
		t.Fatal(err)
	}
	return address
}
