package kvindex

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/sidecar/redisclient"
)

// remote is an index that several sidecars share by Redis or Valkey. Each keeps in memory what publishers have told it,
// which is the truth, and has a copy of it in Redis under a name of its own, for the endpoints that others do not hear.
// Redis is on no event's way: while it is away each knows what it has heard itself, and the copy is made anew when it
// is back.
//
// For each key there is a hash whose fields are INSTANCE|RANK|TIER|ENDPOINT, and for each instance a set of all that it
// has written, by which others tidy up when its sign of life is gone. Until then what it wrote is believed, unless
// another one has begun to hear the publisher since: a sidecar that was killed and is back corrects its own copy.
type remote struct {
	*memory
	client   redis.UniversalClient
	log      *slog.Logger
	instance string
	stop     context.CancelFunc
	done     sync.WaitGroup

	mu    sync.Mutex
	queue []told
	// stale is set while the copy is not what memory has: it is to be made anew.
	stale bool
	wake  chan struct{}
	// claimed is what was said of the publishers that are heard here, by heardField.
	claimed map[string]claim
	others  atomic.Pointer[others]
}

// told is one thing that others are to know.
type told struct {
	key   Key
	field string
	holds bool
}

const (
	remotePrefix = "pintle:kv:"
	keyPrefix    = remotePrefix + "k:"
	// maxTold bounds what waits to be written. When there is more the copy is made anew.
	maxTold      = 1 << 16
	remoteBatch  = 512
	lifeTime     = 10 * time.Second
	remoteLookup = 64 // keys that are looked up at a time
)

var (
	// remoteTimeout bounds each operation.
	remoteTimeout = 300 * time.Millisecond
	// lifePeriod is how often a sidecar shows that it lives, and looks who else does. A server that was away is in use
	// again after two of them.
	lifePeriod = 250 * time.Millisecond
)

func newRemote(c *RedisConfig, m *memory, log *slog.Logger) (*remote, error) {
	address := c.Address
	if !strings.Contains(address, "://") {
		address = "redis://" + address
	}
	o, err := redisclient.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = remoteTimeout, remoteTimeout, remoteTimeout
	// A server that refuses is not asked again by the client, 100 ms apart, while requests wait: round does that.
	o.MaxRetries, o.DialerRetries = -1, 1
	r := &remote{memory: m, client: redis.NewClient(o), log: log, wake: make(chan struct{}, 1), stale: true,
		instance: strconv.FormatUint(rand.Uint64(), 36), claimed: map[string]claim{}}
	r.others.Store(&others{})
	m.tell = r.tell
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	r.done.Go(func() { r.write(ctx) })
	return r, nil
}

func fieldOf(instance string, p Publisher, t Tier) string {
	return instance + "|" + strconv.Itoa(p.Rank) + "|" + strconv.Itoa(int(t)) + "|" + p.Endpoint
}

func keyName(key Key) string { return keyPrefix + strconv.FormatUint(uint64(key), 16) }

func (r *remote) ownName() string  { return remotePrefix + "i:" + r.instance }
func (r *remote) lifeName() string { return remotePrefix + "live:" + r.instance }

const (
	instancesName = remotePrefix + "instances"
	heardName     = remotePrefix + "heard"
)

// tell queues what others are to know.
func (r *remote) tell(p *publisher, key Key, t Tier, holds bool) {
	if p.Rank < 0 {
		return
	}
	r.mu.Lock()
	if len(r.queue) >= maxTold {
		r.queue, r.stale = nil, true
	}
	if !r.stale {
		r.queue = append(r.queue, told{key, fieldOf(r.instance, p.Publisher, t), holds})
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// renew has the copy made anew under another name: the old one counts for nobody from then on.
func (r *remote) renew() {
	r.mu.Lock()
	r.queue, r.stale = nil, true
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// write keeps the copy until ctx ends, and takes it away then.
func (r *remote) write(ctx context.Context) {
	ticker := time.NewTicker(lifePeriod)
	defer ticker.Stop()
	failing := false
	for due := true; ; {
		err := r.round(ctx, due)
		if ctx.Err() != nil {
			r.leave()
			return
		}
		if err != nil && !failing {
			r.log.Warn("the shared index of KV blocks cannot be reached; each sidecar knows its own", "error", err)
		}
		if err == nil && failing {
			r.log.Info("the shared index of KV blocks can be reached again")
		}
		failing = err != nil
		if failing {
			r.others.Store(&others{})
			r.renew()
			if strings.HasPrefix(err.Error(), "OOM ") {
				r.bury(ctx)
			}
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
			due = true
			continue
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
			due = true
		case <-r.wake:
			due = false
		}
	}
}

// round writes what waits. When it is due it shows life before, and looks who else does; so it does with a new copy.
func (r *remote) round(ctx context.Context, due bool) error {
	r.mu.Lock()
	stale := r.stale
	r.mu.Unlock()
	if stale {
		if err := r.copyAll(ctx); err != nil {
			return err
		}
	}
	if due = due || stale; due {
		if err := r.showLife(ctx); err != nil {
			return err
		}
	}
	if err := r.putTold(ctx); err != nil {
		return err
	}
	return r.claim(ctx, due)
}

// putTold writes what waits.
func (r *remote) putTold(ctx context.Context) error {
	for {
		r.mu.Lock()
		n := min(len(r.queue), remoteBatch)
		batch := r.queue[:n:n]
		r.queue = r.queue[n:]
		r.mu.Unlock()
		if n == 0 {
			return nil
		}
		if err := r.put(ctx, r.ownName(), batch); err != nil {
			return err
		}
	}
}

// copyAll writes all that memory has under a new name. The old one is taken away before: Redis may go, again and again,
// before the new one is whole. What is told meanwhile waits until a publisher's copy, which may be older, is written:
// by the end of all it would be more than may wait.
func (r *remote) copyAll(ctx context.Context) error {
	if err := r.tidy(ctx, r.instance); err != nil {
		return err
	}
	r.mu.Lock()
	r.instance = strconv.FormatUint(rand.Uint64(), 36)
	r.queue, r.stale = nil, false
	r.mu.Unlock()
	pipe := r.client.Pipeline()
	pipe.Set(ctx, r.lifeName(), 1, lifeTime)
	pipe.SAdd(ctx, instancesName, r.instance)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for _, p := range r.everybody() {
		for batch := range slices.Chunk(r.holdings(p), remoteBatch) {
			if err := r.put(ctx, r.ownName(), batch); err != nil {
				return err
			}
		}
		if err := r.putTold(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *remote) everybody() []*publisher {
	r.memory.mu.RLock()
	defer r.memory.mu.RUnlock()
	var all []*publisher
	for _, p := range r.publishers {
		all = append(all, p)
	}
	return all
}

// holdings is all that a publisher holds.
func (r *remote) holdings(p *publisher) []told {
	var fields [Tiers]string
	for t := range Tier(Tiers) {
		fields[t] = fieldOf(r.instance, p.Publisher, t)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]told, 0, p.blocks.n)
	p.blocks.all(func(_ uint64, b *block) {
		for t := range Tier(Tiers) {
			if b.count(t) > 0 {
				all = append(all, told{b.key(), fields[t], true})
			}
		}
	})
	return all
}

// put writes a batch to the hashes of its keys, and down into the set of what is written.
func (r *remote) put(ctx context.Context, own string, batch []told) error {
	if len(batch) == 0 {
		return nil
	}
	pipe := r.client.Pipeline()
	r.keepAlive(ctx, pipe)
	for _, one := range batch {
		name := keyName(one.key)
		member := name + " " + one.field
		if one.holds {
			pipe.SAdd(ctx, own, member)
			pipe.HSet(ctx, name, one.field, 1)
		} else {
			pipe.HDel(ctx, name, one.field)
			pipe.SRem(ctx, own, member)
		}
	}
	_, err := pipe.Exec(ctx)
	return err
}

// Close implements Index.
func (r *remote) Close() error {
	r.stop()
	r.done.Wait()
	return r.client.Close()
}
