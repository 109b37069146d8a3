package traffic

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/journal/journaltest"
	"github.com/pintle-dev/pintle/snapshot"
)

// followed is an Envoy whose journal a follower reads into a Traffic.
type followed struct {
	*fixture
	follower *follow.Follower
	store    *journaltest.Store
	journal  *journal.Journal
	names    journal.Names
	answerer journal.Answerer
	answer   []byte
	topology []byte
	// asked is sent to when the follower has begun.
	asked    chan struct{}
	event    journal.Event
	blocks   [32]uint64
	requests int
	// pause and resume are called around the making of an answer.
	pause, resume func()
}

const followedEndpoints = 16

func newFollowed(t testing.TB, o Options) *followed {
	x := &followed{fixture: newFixtureWith(t, o), store: journaltest.New(0).Store(), asked: make(chan struct{}, 1)}
	x.names.Store = x.store
	var names []string
	var topology snapshot.Topology
	for i := range followedEndpoints {
		name := fmt.Sprint("vllm-", i)
		names = append(names, name)
		topology.Endpoints = append(topology.Endpoints,
			snapshot.Endpoint{Name: name, Address: fmt.Sprint("10.0.0.1:", 8000+i)})
	}
	var err error
	if x.topology, err = snapshot.AppendTopology(nil, &topology, snapshot.Position{Epoch: 1, Sequence: 1}); err != nil {
		t.Fatal(err)
	}
	if x.journal, err = journal.New(x.store, journal.Options{Instance: 1}); err != nil {
		t.Fatal(err)
	}
	x.SetEndpoints(names)
	server := httptest.NewServer(x)
	t.Cleanup(server.Close)
	x.follower = &follow.Follower{
		Ingest: config.Ingest{Name: "gateway", URL: server.URL + config.IngestPath},
		Token:  func() string { return "token" }, Interval: time.Hour, Sink: x.Traffic,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	x.write(1)
	go x.follower.Run(t.Context())
	<-x.asked
	x.read()
	return x
}

// ServeHTTP implements http.Handler.
func (x *followed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/names") {
		w.WriteHeader(http.StatusServiceUnavailable)
		select {
		case x.asked <- struct{}{}:
		default:
		}
		return
	}
	names, _ := journal.StoredNames(x.store)
	for _, part := range [][]byte{names, x.topology} {
		_, _ = w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(part))))
		_, _ = w.Write(part)
	}
}

// write journals requests of 2 KB: their decisions and their completions.
func (x *followed) write(requests int) {
	e := &x.event
	x.names.Add(journal.ModelName, journal.HashName("m1"), "m1")
	for range requests {
		x.requests++
		for i := range x.blocks {
			x.blocks[i] = journal.HashName(fmt.Sprint(x.requests%1000, i))
		}
		hash, id := journal.HashName("m1"), journal.EndpointID(fmt.Sprint("vllm-", x.requests%followedEndpoints))
		at := x.now.UnixNano() + int64(x.requests)*100_000
		*e = journal.Event{
			Kind: journal.Decision, Time: at, Lease: x.journal.NextLease(), Model: hash, Asked: hash, Primary: id,
			InputTokens: 512, PromptBytes: 2048, Predicted: true, Client: 5, Cold: x.requests%2 == 0,
			Chains: []journal.Chain{{ID: 64, Blocks: x.blocks[:]}},
		}
		x.journal.Append(e)
		*e = journal.Event{
			Kind: journal.Completion, Time: at + 2_000_000, Lease: e.Lease, Model: hash, Asked: hash, Primary: id,
			InputTokens: 512, OutputTokens: 16, CachedTokens: 256, UsageReported: true, CachedReported: true,
			PromptBytes: 2048, Predicted: true, Client: 5, Status: 200, Code: 200, Ended: journal.EndedWhole,
			TTFTMicros: 1900, DurationMicros: 2000,
		}
		x.journal.Append(e)
	}
}

// open journals a decision for a model.
func (x *followed) open(model string) {
	hash := journal.HashName(model)
	x.names.Add(journal.ModelName, hash, model)
	x.event = journal.Event{Kind: journal.Decision, Time: x.now.UnixNano(), Lease: x.journal.NextLease(), Model: hash,
		Asked: hash, Primary: journal.EndpointID("vllm-0")}
	x.journal.Append(&x.event)
}

// read follows as far as has been written.
func (x *followed) read() {
	for more := true; more; {
		_ = x.follower.Ride(context.Background(), func(query string) ([]byte, error) {
			if x.pause != nil {
				x.pause()
				defer x.resume()
			}
			var at journal.Position
			if _, err := fmt.Sscanf(query, "?at=%d.%d.%d.%d", &at.Epoch, &at.Page, &at.Seq, &at.Offset); err != nil {
				x.t.Fatal(err)
			}
			_, names := journal.StoredNames(x.store)
			x.answer = x.answerer.Append(x.answer[:0], x.store, []journal.Position{at}, journal.Position{}, names, 1)
			a, ok := journal.ParseAnswer(x.answer)
			if !ok {
				x.t.Fatal("no answer")
			}
			more = a.More
			return x.answer, nil
		})
	}
}

// TestModelsOfOneName: models whose names the journal makes equal have one series.
func TestModelsOfOneName(t *testing.T) {
	long := strings.Repeat("m", journal.MaxNameBytes)
	for _, test := range []struct{ name, one, other, told string }{
		{"cut", long + "1", long + "2", long},
		{"no text", "m\xff", "m\xfe", "m"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for llmD, metric := range map[bool]string{false: "pintle_model_requests_in_flight{model=%q} 2",
				true: "inference_objective_running_requests{model_name=%q} 2"} {
				x := newFollowed(t, Options{LLMD: llmD})
				x.open(test.one)
				x.open(test.other)
				x.read()
				x.want(fmt.Sprintf(metric, test.told))
			}
		})
	}
}

// BenchmarkFollowed is what a request costs a sidecar that follows: two events.
func BenchmarkFollowed(b *testing.B) {
	for name, o := range map[string]Options{"own": {}, "llm-d": {LLMD: true}, "prefixes": {Prefixes: true}} {
		b.Run(name, func(b *testing.B) {
			x := newFollowed(b, o)
			x.pause, x.resume = b.StopTimer, b.StartTimer
			const batch = 300
			b.ReportAllocs()
			b.ResetTimer()
			for left := b.N; left > 0; left -= batch {
				b.StopTimer()
				x.write(min(left, batch))
				b.StartTimer()
				x.read()
			}
			b.StopTimer()
			if n := x.follower.Now().Events; n != uint64(2*x.requests) {
				b.Errorf("%d events were told of %d requests", n, x.requests)
			}
		})
	}
}

// TestEventsAllocateNothing: what is kept of requests is memory that is used again.
func TestEventsAllocateNothing(t *testing.T) {
	for _, o := range []Options{{}, {LLMD: true}, {Prefixes: true}} {
		f := newFixtureWith(t, o)
		d := journal.Event{
			Kind: journal.Decision, Instance: 1, Model: journal.HashName("m1"), Asked: journal.HashName("m0"),
			Primary: journal.EndpointID("vllm-0"), Profile: journal.HashName("default"), Streamed: true,
			Predicted: true, PrimaryLoad: 500, Fairness: journal.HashName("tenant"), Time: f.now.UnixNano(),
			Chains: []journal.Chain{{ID: 64, Blocks: make([]uint64, 32)}},
		}
		c := d
		c.Kind, c.Code, c.Status, c.Ended, c.Chains = journal.Completion, 200, 200, journal.EndedWhole, nil
		c.UsageReported, c.CachedReported, c.InputTokens, c.OutputTokens = true, true, 512, 16
		c.TTFTMicros, c.DurationMicros = 1000, 2000
		event := follow.Event{Envoy: "gateway", Names: f.names}
		take := func() {
			d.Lease++
			c.Lease = d.Lease
			for _, e := range []*journal.Event{&d, &c} {
				event.Event = e
				f.Take(&event)
			}
			f.Caught("gateway", journal.Position{})
		}
		for range 2 * keptLast {
			take()
		}
		if n := testing.AllocsPerRun(1000, take); n != 0 {
			t.Errorf("%+v: a request allocates %v times, want never", o, n)
		}
	}
}
