// Package replicate lets several gateways decide on one state. Each follows the journal of its Envoy, appends what
// happened there to a stream in Redis or Valkey, reads what the others appended, and posts it to its Envoy, whose
// journal takes it as the events of instances elsewhere. Package state makes of them what it makes of all others.
//
// Nothing here is on a request's way, and nothing is kept in between: what cannot be appended waits in Envoy's journal,
// and what cannot be posted waits in the stream. Both forget their oldest.
//
// An event is known by its gateway, its log's epoch and its number in that log. Who reads takes each once, in whatever
// order they come, within the last 65,536 of a log; but a completion waits for its decision. Times are told as ages, by
// the clock of the stream's server, and rebased where they are read.
package replicate

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/redisclient"
)

// redisTimeout bounds each operation, and what it may take longer when it waits.
var redisTimeout = time.Second

const (
	postTimeout  = 2 * time.Second
	firstBackoff = 20 * time.Millisecond
	maxBackoff   = time.Second
	// heartbeat is how often a gateway without events says that it is there.
	heartbeat = 5 * time.Second
	// blockTime is how long the server waits for new entries before it answers that there are none.
	blockTime = time.Second
)

// Member is one Envoy among those that share a stream. Two things of it run side by side: the publisher and the reader.
type Member struct {
	// Gateway is its name among all.
	Gateway string

	ingest config.Ingest
	token  func() string
	stream string
	maxLen int64
	pace   time.Duration
	log    *slog.Logger

	client   redis.UniversalClient
	http     *http.Client
	follower *follow.Follower
	metrics  *Metrics

	publisher publisher
	reader    reader
	key       func() string
	share     *Share // nil where scrapes are not shared
	// clock is the server's as of the last append; nil before the first.
	clock atomic.Pointer[clock]

	mu        sync.Mutex
	published time.Time // when an entry was last appended
	failure   map[string]string
}

// New returns the members that a configuration asks for, one for each Envoy. token returns that of the ingest
// listeners.
func New(c *config.Config, token func() string, log *slog.Logger) ([]*Member, error) {
	r := c.Replicate
	secure, err := r.Access.Client()
	if err != nil {
		return nil, fmt.Errorf("replicate.%w", err)
	}
	if secure != nil {
		secure.NextProtos = nil // these are HTTP's
	}
	client, err := redisclient.New(r.Redis, redisclient.Security{TLS: secure, SentinelPassword: r.SentinelPassword},
		redisTimeout)
	if err != nil {
		return nil, fmt.Errorf("replicate.redis: %w", err)
	}
	key := token
	if r.Key != "" {
		key = func() string { return r.Key }
	}
	metrics := newMetrics()
	var all []*Member
	for i, ingest := range c.Ingests {
		m := &Member{
			Gateway: r.Gateway, ingest: ingest, token: token, key: key, stream: r.Stream, maxLen: int64(r.MaxLen),
			pace: r.Interval, log: log, client: client, metrics: metrics, failure: map[string]string{},
			http: &http.Client{Transport: ingest.Transport(), Timeout: postTimeout},
		}
		if len(c.Ingests) > 1 {
			m.Gateway += "/" + strconv.Itoa(i)
		}
		m.publisher = publisher{Member: m, codec: newCodec(r.Stream, key), wake: make(chan struct{}, 1)}
		m.reader = reader{Member: m, codec: newCodec(r.Stream, key), known: peers{}, refused: map[string]uint64{},
			refusing: map[string]refused{}, began: time.Now()}
		m.follower = &follow.Follower{
			Ingest: ingest, Token: token, Interval: r.Interval, Sample: -1, Signs: true, Sink: &m.publisher, Log: log,
			Full: m.publisher.behind.Load,
		}
		metrics.members = append(metrics.members, m)
		all = append(all, m)
	}
	return all, nil
}

// Overheard has another follower of the same Envoy get what this one reads there. It is called before Run.
func (m *Member) Overheard(by *follow.Follower) { m.follower.Overhearer = by }

// Metrics are those of all members of New.
func (m *Member) Metrics() *Metrics { return m.metrics }

// Run replicates until ctx ends.
func (m *Member) Run(ctx context.Context) {
	defer m.http.CloseIdleConnections()
	from, ok := m.publisher.begin(ctx)
	if !ok {
		return
	}
	m.follower.From = from
	var tasks sync.WaitGroup
	tasks.Go(func() { m.publisher.run(ctx) })
	tasks.Go(func() { m.publisher.catchUp(ctx) })
	tasks.Go(func() { m.follower.Run(ctx) })
	tasks.Go(func() { m.reader.run(ctx) })
	tasks.Wait()
}

// retry does something until it succeeds or ctx ends, and keeps what is wrong meanwhile under a name.
func (m *Member) retry(ctx context.Context, name string, do func() error) (ok bool) {
	for failures := 1; ctx.Err() == nil; failures++ {
		err := do()
		if ctx.Err() != nil {
			return false
		}
		m.note(name, err)
		if err == nil {
			return true
		}
		pace.Sleep(ctx, pace.Jitter(pace.Backoff(firstBackoff, failures, maxBackoff)))
	}
	return false
}

// note keeps what became of something, and logs when that changes.
func (m *Member) note(name string, err error) {
	m.mu.Lock()
	was, is := m.failure[name], ""
	if err != nil {
		is = pool.OneLine(err.Error())
		m.metrics.failed.WithLabelValues(name).Inc()
	}
	m.failure[name] = is
	m.mu.Unlock()
	switch {
	case is != "" && was == "":
		m.log.Warn("replication stands still", "gateway", m.Gateway, "at", name, "error", is)
	case is == "" && was != "":
		m.log.Info("replication goes on", "gateway", m.Gateway, "at", name)
	}
}
