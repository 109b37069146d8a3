package replicate

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// found is a discovery of which only the name is used.
type found struct{}

func (found) Name() string                                             { return "found" }
func (found) Run(context.Context, func(part topology.Part, err error)) {}

// poolWith has one endpoint, which nobody scrapes.
func poolWith(t *testing.T, e topology.Endpoint) (*pool.Pool, *pool.Target) {
	t.Helper()
	p := pool.New(slog.New(slog.DiscardHandler), engine.Known, []topology.Discovery{found{}})
	p.Start = func(context.Context, *pool.Target) {}
	p.Update(t.Context(), 0, topology.Part{Endpoints: []topology.Endpoint{e}}, nil)
	return p, p.Generation().Targets[0]
}

// TestSamples has samples come by a server whose clock is ahead, and from gateways whose ages cannot be known.
func TestSamples(t *testing.T) {
	const ahead, wrong, fresh = 5 * time.Minute, 10 * time.Millisecond, time.Minute
	good := sharedSample{Version: sampleVersion, Name: "a", Address: "10.0.0.1:8000", Engine: "vllm",
		Age: 3 * time.Second, Sample: engine.Sample{WaitingRequests: 7}}
	changed := func(change func(s *sharedSample)) sharedSample {
		s := good
		change(&s)
		return s
	}
	known := &clock{offset: int64(ahead), error: int64(wrong)}
	tests := []struct {
		name    string
		sample  sharedSample
		gateway string
		ago     time.Duration // since the entry was sent, by the server's clock
		late    time.Duration // by which its ID is after that
		clock   *clock
		taken   bool
		err     error
	}{
		{"one", good, "b", 2 * time.Second, time.Second, known, true, nil},
		{"an old one", good, "b", 2 * fresh, 0, known, false, nil},
		{"one of this gateway", good, "a", 2 * time.Second, 0, known, false, nil},
		{"without a clock", good, "b", 2 * time.Second, 0, nil, false, nil},
		{"the server's clock has leapt", good, "b", -time.Hour, 0, known, false, nil},
		{"it leapt after the entry was sent", good, "b", 2 * time.Second, time.Hour, known, false, nil},
		{"it leapt back before", good, "b", 2 * time.Second, -time.Second, known, false, nil},
		{"another version", changed(func(s *sharedSample) { s.Version++ }), "b", time.Second, 0, known, false,
			otherVersion(2, 1)},
		{"an age below 0", changed(func(s *sharedSample) { s.Age = -1 }), "b", time.Second, 0, known, false, errTorn},
		{"another address", changed(func(s *sharedSample) { s.Address = "10.0.0.2:8000" }), "b", time.Second, 0, known,
			false, nil},
		{"an unknown engine", changed(func(s *sharedSample) { s.Engine = "x" }), "b", time.Second, 0, known, false,
			nil},
		{"another engine", changed(func(s *sharedSample) { s.Engine = "sglang" }), "b", time.Second, 0, known, false,
			nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, target := poolWith(t, topology.Endpoint{
				Endpoint: snapshot.Endpoint{Name: "a", Address: good.Address, Engine: "vllm"}})
			m := &Member{Gateway: "a", stream: stream, metrics: newMetrics()}
			m.clock.Store(test.clock)
			s := NewShare(m, p, engine.Known, fresh)
			text, err := json.Marshal(test.sample)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			sent := began.Add(ahead - test.ago)
			e := &entry{gateway: test.gateway, sent: sent.UnixNano(), batch: append(text, '\n')}
			err = s.take(e, streamID{High: uint64(sent.Add(test.late).UnixMilli())})
			if fmt.Sprint(err) != fmt.Sprint(test.err) {
				t.Errorf("got %v, want %v", err, test.err)
			}
			view := target.Now()
			if view.Shared != test.taken || s.Stands(target) != test.taken {
				t.Fatalf("taken: %v, stands: %v, want %v", view.Shared, s.Stands(target), test.taken)
			}
			if !test.taken {
				return
			}
			at := began.Add(-test.ago - test.sample.Age)
			if early := at.Sub(view.Sampled); early < 0 || early > 2*wrong || view.Sample.WaitingRequests != 7 {
				t.Errorf("got %+v as of %v before it was taken, want 0 to %v", view.Sample, early, 2*wrong)
			}
			older := &entry{gateway: "b", sent: sent.Add(-time.Second).UnixNano(), batch: e.batch}
			if err := s.take(older, streamID{High: uint64(sent.UnixMilli())}); err != nil ||
				!target.Now().Sampled.Equal(view.Sampled) {
				t.Errorf("an older one: got %v, taken as of %v", err, target.Now().Sampled)
			}
			changes, samples := p.Watch(), p.WatchSamples()
			newer := &entry{gateway: "b", sent: sent.Add(time.Second).UnixNano(), batch: e.batch}
			err = s.take(newer, streamID{High: uint64(sent.Add(time.Second).UnixMilli())})
			if err != nil || len(changes) != 0 || len(samples) != 1 {
				t.Errorf("a newer one: got %v, %d changes, %d that are only newer, want none and 1", err, len(changes),
					len(samples))
			}
		})
	}
}

// TestSaysThatItHearsNoSamples: a user who may not read what another scraped is told of, and no more once it may.
func TestSaysThatItHearsNoSamples(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	redis, _ := restricted(t, v)
	a := newGateway(t, "a", redis)
	p, _ := poolWith(t, topology.Endpoint{Endpoint: snapshot.Endpoint{Name: "a", Address: "10.0.0.1:8000"}})
	s := NewShare(a.member, p, engine.Known, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go s.listen(ctx)
	want := func(failures ...string) {
		t.Helper()
		harness.WaitFor(t, limit, fmt.Sprintf("the failures %q", failures), func() (bool, string) {
			got := a.member.Now(time.Now()).Failures
			return slices.EqualFunc(got, failures, strings.HasPrefix), fmt.Sprint(got)
		})
	}
	want("shared: NOPERM")
	if err := client.ACLSetUser(t.Context(), "pintle", "~"+s.stream).Err(); err != nil {
		t.Fatal(err)
	}
	want()
}

// TestRefusesSamplesOnce: entries that stay, as nobody scrapes for all, are counted when they are read first.
func TestRefusesSamplesOnce(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	a := newGateway(t, "a", addressOf(v))
	p, _ := poolWith(t, topology.Endpoint{Endpoint: snapshot.Endpoint{Name: "a", Address: "10.0.0.1:8000"}})
	s := NewShare(a.member, p, engine.Known, time.Minute)
	foreign := func() {
		t.Helper()
		text := newCodec(s.stream, func() string { return "another key" }).seal(&entry{gateway: "x"})
		add := &redis.XAddArgs{Stream: s.stream, Values: []any{field, text}}
		if err := client.XAdd(t.Context(), add).Err(); err != nil {
			t.Fatal(err)
		}
	}
	refused := func() uint64 { return a.member.Now(time.Now()).Refused["foreign"] }
	go s.listen(t.Context())
	for n := range uint64(2) {
		foreign()
		harness.WaitFor(t, limit, "the entry to be refused", func() (bool, string) {
			return refused() >= n+1, fmt.Sprint(refused())
		})
		time.Sleep(3 * blockTime / 2) // what is tested is that time passes: the stream is read again
		if got := refused(); got != n+1 {
			t.Errorf("got %d refused, want %d", got, n+1)
		}
	}
}

// TestLeaseOfAnother: who finds that another one scrapes for all does so no more at once, whatever it thought, and that
// it could not tell what it read is over.
func TestLeaseOfAnother(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	p, _ := poolWith(t, topology.Endpoint{Endpoint: snapshot.Endpoint{Name: "a", Address: "10.0.0.1:8000"}})
	m := &Member{Gateway: "a", stream: stream, metrics: newMetrics(), failure: map[string]string{}, client: client,
		log: slog.New(slog.DiscardHandler)}
	s := NewShare(m, p, engine.Known, time.Minute)
	if s.hold(t.Context()); !s.Holds() {
		t.Fatal("does not scrape for all, want it to, as nobody else does")
	}
	s.until = s.until.Add(time.Hour)
	m.note("samples", context.DeadlineExceeded)
	if err := client.Set(t.Context(), s.lease, "another", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	if s.hold(t.Context()); s.Holds() || m.failure["samples"] != "" {
		t.Errorf("scrapes for all: %v, and tells samples in vain: %q; want another to", s.Holds(), m.failure["samples"])
	}
}
