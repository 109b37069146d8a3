package replicate

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

const (
	// leaseTime is how long who scrapes for all may be silent, leaseTry how often others try to take over.
	leaseTime = 1500 * time.Millisecond
	leaseTry  = 300 * time.Millisecond
	// sharedEntries is how many entries with samples are kept: they are read at once, or too old.
	sharedEntries = 100
)

// Share has one sidecar of a stream's scrape for all. It holds a lease at the stream's server and appends the samples
// that it takes to a stream of their own, with their ages. The others take them from there. Each scrapes an endpoint by
// itself as soon as there is no fresh sample of it from another, whatever the reason; who holds the lease does always.
// Two that both think they hold it do no harm: what they tell is true.
type Share struct {
	member *Member
	// stream is the key of the samples, lease that of the lease, both in the same slot of a Cluster as the member's.
	stream, lease, token string
	fresh                time.Duration
	pool                 *pool.Pool
	engines              engine.Set

	mu     sync.Mutex
	until  time.Time // how long the lease is held
	read   map[*pool.Target]bool
	holder string // whose samples were taken last
	heard  time.Time
}

// NewShare returns what shares the scrapes of a sidecar with the other gateways of its first member. fresh is up to
// which age a sample of another stands for a scrape.
func NewShare(m *Member, p *pool.Pool, engines engine.Set, fresh time.Duration) *Share {
	tag := m.stream
	if !strings.Contains(tag, "{") {
		tag = "{" + tag + "}"
	}
	s := &Share{member: m, stream: tag + ":scrapes", lease: tag + ":scraper", token: m.Gateway + "/" + rand.Text(),
		fresh: fresh, pool: p, engines: engines, read: map[*pool.Target]bool{}}
	m.share = s
	return s
}

// Stands reports whether another sidecar's sample stands for a scrape now.
func (s *Share) Stands(t *pool.Target) bool {
	view := t.Now()
	return view.Shared && time.Since(view.Sampled) < s.fresh && !s.Holds()
}

// Read is told that an endpoint was scraped here.
func (s *Share) Read(t *pool.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.until) {
		s.read[t] = true
	}
}

// Holds reports whether this sidecar scrapes for all.
func (s *Share) Holds() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.until)
}

// Now says who scrapes.
func (s *Share) Now(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case now.Before(s.until):
		return "scrapes for all"
	case now.Sub(s.heard) < max(s.fresh, time.Second):
		return "scraped for by " + s.holder
	}
	return "scrapes for itself"
}

// Run shares until ctx ends.
func (s *Share) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for ctx.Err() == nil {
			s.hold(ctx)
			pace.Sleep(ctx, pace.Jitter(leaseTry))
		}
	})
	tasks.Go(func() {
		codec := newCodec(s.stream, s.member.key)
		for ctx.Err() == nil {
			s.tell(ctx, codec)
			pace.Sleep(ctx, s.member.pace)
		}
	})
	tasks.Go(func() { s.listen(ctx) })
	tasks.Wait()
}

// hold keeps the lease, or takes it when nobody has it. It counts from before the server was asked.
func (s *Share) hold(ctx context.Context) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	mine, err := s.renew(limited)
	if ctx.Err() != nil {
		return
	}
	s.member.note("scrapes", err)
	if err == nil && !mine {
		s.member.note("samples", nil) // who holds no lease tells none
	}
	s.mu.Lock()
	held := began.Before(s.until)
	switch {
	case mine:
		s.until = began.Add(leaseTime)
	case err == nil:
		s.until = time.Time{}
	}
	s.mu.Unlock()
	switch {
	case mine && !held:
		s.member.log.Info("scrapes for all gateways", "gateway", s.member.Gateway)
	case !mine && held && err == nil:
		s.member.log.Info("scrapes no more for all gateways", "gateway", s.member.Gateway)
	}
}

// renew reports whether the lease is this sidecar's for another leaseTime. What it may extend between a look and the
// next command is another's lease, by that time at most.
func (s *Share) renew(ctx context.Context) (mine bool, err error) {
	client := s.member.client
	holder, err := client.Get(ctx, s.lease).Result()
	switch {
	case errors.Is(err, redis.Nil):
		err = client.SetArgs(ctx, s.lease, s.token, redis.SetArgs{Mode: "NX", TTL: leaseTime}).Err()
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
		return err == nil, err
	case err != nil || holder != s.token:
		return false, err
	}
	return client.PExpire(ctx, s.lease, leaseTime).Result()
}
