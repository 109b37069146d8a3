package kvcache

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/llm-d/llm-d-kv-cache/pkg/kvcache"
	"github.com/llm-d/llm-d-kv-cache/pkg/kvcache/kvblock"
	"github.com/llm-d/llm-d-kv-cache/pkg/kvevents"
	"github.com/llm-d/llm-d-kv-cache/pkg/kvevents/engineadapter"

	"github.com/pintle-dev/pintle/internal/kvpub"
	sidecarengine "github.com/pintle-dev/pintle/internal/sidecar/engine"
	subscribing "github.com/pintle-dev/pintle/internal/sidecar/kvevents"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// settings are what both are configured with.
type settings struct {
	seed    string
	size    int
	weights kvindex.Weights
	// podCache is llm-d's podCacheSize: how many holders a block may have there.
	podCache int
}

// both are the two indexes with the publishers of some endpoints.
type both struct {
	*testing.T
	settings
	names      []string
	addresses  []string
	publishers []*kvpub.Publisher
	ours       *kvindex.Indexer
	theirs     *kvcache.Indexer
	processor  kvblock.TokenProcessor
	marks      uint32
}

const (
	topicFilter = "kv@"
	baseModel   = "base"
)

func newBoth(t *testing.T, c settings, endpoints int) *both {
	t.Helper()
	b := &both{T: t, settings: c, processor: newProcessor(t, c.seed, c.size)}
	var err error
	if b.ours, err = kvindex.New(kvindex.Config{Seed: c.seed, BlockTokens: c.size, Weights: &c.weights}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.ours.Close() })
	config, err := kvcache.NewDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.KVBlockIndexConfig.InMemoryConfig.PodCacheSize = c.podCache
	config.BackendConfigs = nil
	for tier, name := range []string{"gpu", "cpu", "storage"} {
		config.BackendConfigs = append(config.BackendConfigs,
			&kvcache.KVCacheBackendConfig{Name: name, Weight: c.weights[tier]})
	}
	if b.theirs, err = kvcache.NewKVCacheIndexer(t.Context(), config, b.processor); err != nil {
		t.Fatal(err)
	}
	for i := range endpoints {
		b.names = append(b.names, fmt.Sprint("ns/pod-", i))
		b.publish()
	}
	b.subscribe()
	return b
}

// publish starts the publisher of one more endpoint, and the server that says where it is.
func (b *both) publish() {
	var publisher *kvpub.Publisher
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, port, err := net.SplitHostPort(publisher.Address())
		if r.URL.Path != "/kv_event_sources" || err != nil {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"0":{"publisher":"zmq","endpoint":"tcp://*:%s","replay_endpoint":null}}`, port)
	}))
	b.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	var err error
	publisher, err = kvpub.New(kvpub.Options{Listen: "127.0.0.1:0", Topic: topicFilter + address + "@" + baseModel})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(publisher.Close)
	b.addresses, b.publishers = append(b.addresses, address), append(b.publishers, publisher)
}

type nowhere struct{}

func (nowhere) Name() string                                        { return "nowhere" }
func (nowhere) Run(context.Context, func(p topology.Part, _ error)) {}

// subscribe has the sidecar's subscriber listen to all publishers.
func (b *both) subscribe() {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	known := pool.New(log, sidecarengine.Known, []topology.Discovery{nowhere{}})
	known.Start = func(ctx context.Context, _ *pool.Target) { <-ctx.Done() }
	s := &subscribing.Subscriber{Index: b.ours, Pool: known, Log: log, Config: subscribing.Config{
		TopicFilter: topicFilter, Concurrency: 1, DiscoverPods: true, SocketPort: subscribing.DefaultSocketPort}}
	if err := s.Open(); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	b.Cleanup(func() {
		cancel()
		<-done
	})
	var part topology.Part
	for i, name := range b.names {
		part.Endpoints = append(part.Endpoints,
			topology.Endpoint{Endpoint: snapshot.Endpoint{Name: name, Address: b.addresses[i]}})
	}
	known.Update(b.Context(), 0, part, nil)
	b.wait("all publishers to be heard", func() bool {
		heard := 0
		for _, status := range s.Now() {
			if status.Connected {
				heard++
			}
		}
		for _, p := range b.publishers {
			if p.Subscribers() == 0 {
				return false
			}
		}
		return heard == len(b.names)
	})
}

func (b *both) wait(what string, holds func() bool) {
	b.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			b.Fatalf("waited in vain for %s", what)
		}
	}
}

// tell has both hear a message of an endpoint, and returns when both have taken it in.
func (b *both) tell(endpoint int, payload []byte) {
	b.Helper()
	// A mark comes after it, on the same way: a block that nothing else asks for.
	b.marks++
	mark := &chain{asked: asked{model: baseModel, tokens: make([]uint32, b.size)},
		hashes: []uint64{uint64(b.marks)<<32 | 1}}
	for i := range mark.tokens {
		mark.tokens[i] = 1<<31 + b.marks
	}
	e := &engine{size: b.size, maps: true}
	e.stored(mark, 0, 1)
	b.publishTo(endpoint, payload)
	b.publishTo(endpoint, e.batch(b.T))
	b.wait("a message to be taken in", func() bool {
		return b.scores(&mark.asked)[b.names[endpoint]] == b.weights[kvindex.GPU]
	})
	if theirs := b.theirScores(&mark.asked, true); theirs[b.names[endpoint]] != b.weights[kvindex.GPU] {
		b.Fatalf("llm-d's index has not heard of a mark: %v", theirs)
	}
}

// publishTo publishes a message of an endpoint, and has llm-d's index take it in.
func (b *both) publishTo(endpoint int, payload []byte) {
	b.publishers[endpoint].Publish(payload)
	// A pool takes all that it was given before it ends.
	taking := kvevents.NewPool(&kvevents.Config{Concurrency: 1}, b.theirs.KVBlockIndex(), b.processor,
		engineadapter.NewVLLMAdapter())
	taking.Start(b.Context())
	taking.AddTask(&kvevents.RawMessage{Payload: payload,
		Topic: topicFilter + b.addresses[endpoint] + "@" + baseModel})
	taking.Shutdown(b.Context())
}

// hits are what the index says of a prompt.
func (b *both) hits(p *asked) []kvindex.Hit {
	b.Helper()
	hits, err := b.ours.Match(b.Context(), nil, p.model, p.prompt(), b.names)
	if err != nil {
		b.Fatal(err)
	}
	return hits
}

// scores are the same by endpoint.
func (b *both) scores(p *asked) map[string]float64 {
	b.Helper()
	all := map[string]float64{}
	for _, h := range b.hits(p) {
		all[h.Endpoint] = h.Score
	}
	return all
}

// theirScores are what llm-d's index says of a prompt, with what events say of its salt or without.
func (b *both) theirScores(p *asked, salted bool) map[string]float64 {
	b.Helper()
	scores, err := b.theirs.ScoreTokens(b.Context(), p.tokens, p.model, b.addresses, p.features(b.size, salted))
	if err != nil {
		b.Fatal(err)
	}
	all := map[string]float64{}
	for i, address := range b.addresses {
		if score, ok := scores[address]; ok {
			all[b.names[i]] = score
		}
	}
	return all
}
