// Package servers has what tests in front of real model servers do alike, whichever these are.
package servers

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	known "github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/kvevents"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// Listening is a subscriber to the KV events of one server, with its index.
type Listening struct {
	Index *kvindex.Indexer
	sub   *kvevents.Subscriber
	t     *testing.T
}

type oneSource struct{}

func (oneSource) Name() string                                             { return "test" }
func (oneSource) Run(context.Context, func(part topology.Part, err error)) {}

// endpoint is what listeners call their server.
const endpoint = "e"

// Listen connects to the publisher of a server, which says itself where that is.
func Listen(t *testing.T, address, model string) *Listening {
	t.Helper()
	l := ListenFor(t, address, model, kvevents.Config{DiscoverPods: true})
	l.Wait("a connection", l.Connected)
	return l
}

// ListenFor is Listen by a configuration, whose defaults are set, and does not wait.
func ListenFor(t *testing.T, address, model string, c kvevents.Config) *Listening {
	t.Helper()
	c.TopicFilter, c.Concurrency = kvevents.DefaultTopicFilter, kvevents.DefaultConcurrency
	c.SocketPort = kvevents.DefaultSocketPort
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	index, err := kvindex.New(kvindex.Config{Model: model})
	if err != nil {
		t.Fatal(err)
	}
	p := pool.New(log, known.Known, []topology.Discovery{oneSource{}})
	p.Start = func(ctx context.Context, _ *pool.Target) { <-ctx.Done() }
	l := &Listening{index, &kvevents.Subscriber{Index: index, Pool: p, Log: log, Config: c}, t}
	if err := l.sub.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.sub.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	p.Update(ctx, 0, topology.Part{Endpoints: []topology.Endpoint{
		{Endpoint: snapshot.Endpoint{Name: endpoint, Address: address}}}}, nil)
	return l
}

// Connected reports whether the publisher is heard.
func (l *Listening) Connected() bool {
	all := l.sub.Now()
	return len(all) == 1 && all[0].Connected && all[0].Failure == ""
}

// Entries is how many blocks the server has by the index.
func (l *Listening) Entries() int64 { return l.Index.Stats().Entries }

// Wait waits for what has to come about.
func (l *Listening) Wait(what string, holds func() bool) {
	l.t.Helper()
	harness.WaitFor(l.t, time.Minute, what, func() (bool, string) {
		return holds(), fmt.Sprint(l.sub.Summary(), l.sub.Now())
	})
}

// Knows is how many tokens of a prompt are in the server's cache by the index.
func (l *Listening) Knows(p *Prompt) int {
	l.t.Helper()
	hits, err := l.Index.Match(context.Background(), nil, p.Model, &kvindex.Prompt{Tokens: p.Tokens, Salt: p.Salt},
		[]string{endpoint})
	if err != nil {
		l.t.Fatal(err)
	}
	if len(hits) == 0 {
		return 0
	}
	return hits[0].Tokens
}

// Settle waits until nothing more comes: a server tells of a request's blocks some time after its answer.
func (l *Listening) Settle() {
	last, since := time.Time{}, time.Now()
	for time.Since(since) < 50*time.Millisecond {
		if all := l.sub.Now(); len(all) == 1 && all[0].Last != last {
			last, since = all[0].Last, time.Now()
		}
		time.Sleep(5 * time.Millisecond)
	}
}
