package precise

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// PromptsPath is where the filter hands over prompts after their decisions, see scoring.PrecisePrompt.
const PromptsPath = Path + "/prompts"

const (
	// saidAgain is after what time the holders of a prompt's blocks are told of again: an Envoy may have missed it.
	saidAgain = time.Minute
	// mostTelling bounds the bytes of events that wait for an Envoy. Beyond them events are dropped.
	mostTelling = 16 << 20
	// mostMessage is how many bytes of events go into one message, and the event that takes them beyond it.
	mostMessage = journal.MaxRelayBytes / 2
	tellTimeout = 2 * time.Second
	// mostWaiting bounds the prompts that wait for their tokens, mostWaitingBytes what they take.
	mostWaiting      = 256
	mostWaitingBytes = 32 << 20
)

// Background learns from prompts which blocks of text are which blocks of the servers, and tells Envoys what servers
// say of these. It stands in place of the index that the servers' events are put into.
type Background struct {
	kvindex.Index
	// Blocks is what Index belongs to, Tokens makes tokens, Endpoints returns the names of the servers that there are.
	Blocks    *kvindex.Indexer
	Tokens    *tokens.Pool
	Endpoints func() []string
	// Ingests are the Envoys, Token is what they must be shown.
	Ingests []config.Ingest
	Token   func() string
	Log     *slog.Logger

	instance uint64
	waiting  chan scoring.PrecisePrompt
	kept     room // for what waits
	envoys   []*envoy
	// hanging is for how long an Envoy may take for a message.
	hanging time.Duration
	// clock is time.Now but in tests. Times here are what has passed since began: the clock may be set back.
	clock   func() time.Time
	began   time.Time
	prompts *prometheus.CounterVec
	told    *prometheus.CounterVec

	mu    sync.Mutex
	known texts
	// spoke are the endpoints that have stored something, or were told to hold something, since they were last told to
	// have forgotten all.
	spoke map[string]bool
	// lost is what the full index has forgotten of each endpoint, by an Add under way.
	lost map[string][]kvindex.Key
	// resay is when something could not be told: what was said before is said again.
	resay int64
}

// Start makes it ready.
func (b *Background) Start() {
	b.instance = rand.Uint64() | 1
	b.waiting = make(chan scoring.PrecisePrompt, mostWaiting)
	b.kept.left = mostWaitingBytes
	for _, ingest := range b.Ingests {
		b.envoys = append(b.envoys, &envoy{Ingest: ingest, wake: make(chan struct{}, 1)})
	}
	b.hanging = tellTimeout
	b.clock, b.began = time.Now, time.Now()
	b.spoke, b.lost = map[string]bool{}, map[string][]kvindex.Key{}
	b.OnFull(func(endpoint string, key kvindex.Key) { b.lost[endpoint] = append(b.lost[endpoint], key) })
	b.known.init()
	b.prompts = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pintle_prefix_prompts_total",
		Help: "Prompts that were handed over after their decisions."}, []string{"result"})
	b.told = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pintle_prefix_told_total",
		Help: "What Envoys were told of what servers have."}, []string{"result"})
}

// passed is how much time has passed since it began, in nanoseconds.
func (b *Background) passed() int64 { return int64(b.clock().Sub(b.began)) }

// Collectors are its metrics.
func (b *Background) Collectors() []prometheus.Collector {
	untold := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "pintle_prefix_untold",
		Help: "Changes of what servers have that an Envoy was not told of yet, where they are most."}, func() float64 {
		b.mu.Lock()
		defer b.mu.Unlock()
		most := 0
		for _, to := range b.envoys {
			most = max(most, to.untold)
		}
		return float64(most)
	})
	return []prometheus.Collector{b.prompts, b.told, untold}
}

// Take takes prompts that the filter hands over.
func (b *Background) Take(message []byte) {
	for len(message) > 0 {
		var p scoring.PrecisePrompt
		rest, ok := p.Read(message)
		if !ok {
			b.prompts.WithLabelValues("unreadable").Inc()
			return
		}
		message = rest
		if !b.keep(&p) {
			b.prompts.WithLabelValues("busy").Inc()
		}
	}
}

// keep has a prompt wait, if there is room. It is copied: those that wait shall not hold whole messages.
func (b *Background) keep(p *scoring.PrecisePrompt) bool {
	if len(b.waiting) == mostWaiting || !b.kept.take(p.Bytes()) {
		return false
	}
	p.Body = bytes.Clone(p.Body)
	select {
	case b.waiting <- *p:
		return true
	default:
		b.kept.give(p.Bytes())
		return false
	}
}

// Learn learns from prompts until ctx ends. It may run several times.
func (b *Background) Learn(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-b.waiting:
			result, none := "learnt", tokens.ErrNone("")
			if err := b.learn(ctx, &p); errors.As(err, &none) {
				result = "none"
			} else if err != nil {
				result = "failed"
				b.Log.Debug("no tokens of a prompt", "error", err)
			}
			b.prompts.WithLabelValues(result).Inc()
			b.kept.give(p.Bytes())
		}
	}
}

// learn notes which keys a prompt's blocks of text stand for. The error is a tokens.ErrNone when that cannot be said.
func (b *Background) learn(ctx context.Context, p *scoring.PrecisePrompt) error {
	chain, ok := state.Plain(p.Chain)
	if !ok || p.TextBytes == 0 {
		return tokens.ErrNone("text")
	}
	prompt, err := tokens.Read(p.API, p.Body)
	if err != nil {
		return err
	}
	encoded, err := b.Tokens.Tokens(ctx, prompt)
	if err != nil {
		return err
	}
	if len(encoded.Media) > 0 || len(encoded.Tokens) == 0 {
		return tokens.ErrNone("media")
	}
	bySize := map[int][]string{}
	for _, name := range b.Endpoints() {
		size := b.Blocks.BlockTokens(name)
		bySize[size] = append(bySize[size], name)
	}
	keyed := kvindex.Prompt{Tokens: encoded.Tokens, Salt: prompt.Salt}
	now := b.passed()
	for size, names := range bySize {
		keys := b.Blocks.Keys(nil, prompt.Model, size, &keyed)
		b.note(ctx, p, keys, ends(chain, p, len(encoded.Tokens), size), names, now)
	}
	return nil
}

// ends is for each of a prompt's blocks of text how many blocks of the servers it takes to cover it. Tokens are taken
// to be equally long.
func ends(chain state.Chain, p *scoring.PrecisePrompt, tokens, size int) []int {
	all := make([]int, len(p.Blocks))
	for i := range all {
		covered := (chain.End(i+1)*tokens + p.TextBytes - 1) / p.TextBytes
		all[i] = (covered + size - 1) / size
	}
	return all
}

// note notes which keys blocks of text stand for and tells of those who have what is new.
func (b *Background) note(ctx context.Context, p *scoring.PrecisePrompt, keys []kvindex.Key, ends []int,
	names []string, now int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	since := max(now-int64(saidAgain), b.resay)
	parent, say := uint64(0), false
	for i, hash := range p.Blocks {
		if ends[i] > len(keys) {
			break
		}
		if b.known.put(text{p.Chain, hash}, parent, keys[ends[i]-1], now, since) {
			say = true
		}
		parent = hash
	}
	if !say {
		return
	}
	hits, err := b.Lookup(ctx, nil, keys, names)
	if err != nil {
		return
	}
	for _, h := range hits {
		n := 0
		for n < len(ends) && ends[n] <= h.Blocks {
			n++
		}
		if n > 0 {
			b.spoke[h.Endpoint] = true
			b.tell(h.Endpoint, p.Chain, p.Blocks[:n], n)
		}
	}
}

// Add implements kvindex.Index.
func (b *Background) Add(ctx context.Context, p kvindex.Publisher, tier kvindex.Tier, hashes []uint64,
	keys []kvindex.Key) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.Index.Add(ctx, p, tier, hashes, keys)
	b.spoke[p.Endpoint] = true
	// A prompt's blocks come in its order: what is last of a chain has all that is before it.
	said := map[text]bool{}
	for i := len(keys) - 1; i >= 0; i-- {
		for _, t := range slices.Backward(b.known.of(keys[i])) {
			if said[t] {
				continue
			}
			blocks := b.known.path(t)
			for _, hash := range blocks {
				said[text{t.chain, hash}] = true
			}
			b.tell(p.Endpoint, t.chain, blocks, len(blocks))
		}
	}
	for endpoint, keys := range b.lost {
		delete(b.lost, endpoint)
		b.gone(ctx, endpoint, keys)
	}
	return err
}

// Evict implements kvindex.Index.
func (b *Background) Evict(ctx context.Context, p kvindex.Publisher, tier kvindex.Tier, hashes []uint64) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var keys []kvindex.Key
	for _, hash := range hashes {
		if key, err := b.Key(ctx, p, hash); err == nil {
			keys = append(keys, key)
		}
	}
	unknown, err := b.Index.Evict(ctx, p, tier, hashes)
	b.gone(ctx, p.Endpoint, keys)
	return unknown, err
}

// Clear implements kvindex.Index.
func (b *Background) Clear(ctx context.Context, p kvindex.Publisher) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgot(p.Endpoint)
	return b.Index.Clear(ctx, p)
}

// Drop implements kvindex.Index.
func (b *Background) Drop(ctx context.Context, endpoint string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgot(endpoint)
	return b.Index.Drop(ctx, endpoint)
}
