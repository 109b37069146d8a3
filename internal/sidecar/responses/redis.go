package responses

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/sidecar/redisclient"
	"github.com/pintle-dev/pintle/scoring"
)

// remote keeps entries in Redis or Valkey, which several gateways may share. An entry is there before it is
// acknowledged.
type remote struct {
	client  redis.UniversalClient
	ttl     time.Duration
	metrics *Metrics
}

// keyPrefix begins the names of all entries in Redis.
const keyPrefix = "pintle:responses:"

// tombstone is what an entry leaves that was deleted from several tiers: it shall not come back from the second one. No
// encoded entry is as short.
const tombstone = "-"

// redisTimeout bounds each operation: the filter does not wait longer.
var redisTimeout = 300 * time.Millisecond

// newRemote does not connect yet: a Redis that is away is so for some requests, and not for the sidecar.
func newRemote(config scoring.StoreRedis, metrics *Metrics) (*remote, error) {
	client, err := redisclient.New(config, redisclient.Security{}, redisTimeout)
	if err != nil {
		return nil, fmt.Errorf("tieredConfig.redis.address: %w", err)
	}
	return &remote{client: client, ttl: config.TTL, metrics: metrics}, nil
}

// TTL implements Backend.
func (r *remote) TTL() time.Duration { return r.ttl }

// Get implements Backend.
func (r *remote) Get(ctx context.Context, key string) (*Entry, error) {
	value, err := r.read(ctx, key)
	if err != nil {
		return nil, err
	}
	return decodeFresh(value)
}

// Again implements Backend.
func (r *remote) Again(ctx context.Context, key string) (*Entry, error) { return r.Get(ctx, key) }

// errAbsent is ErrUnknown of a key that Redis has not, nor a tombstone.
var errAbsent = fmt.Errorf("%w", ErrUnknown)

// read returns what is under a key.
func (r *remote) read(ctx context.Context, key string) ([]byte, error) {
	defer r.metrics.took("redis", "get", time.Now())
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	value, err := r.client.Get(ctx, keyPrefix+key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, errAbsent
	}
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	return value, nil
}

// decodeFresh reads an entry that has not expired, and was not deleted.
func decodeFresh(value []byte) (*Entry, error) {
	if string(value) == tombstone {
		return nil, ErrUnknown
	}
	e, err := decode(value)
	if err == nil && !time.Now().Before(e.Expires) {
		return nil, ErrUnknown
	}
	return e, err
}

// Put implements Backend. If it fails the caller does it again, which changes nothing.
func (r *remote) Put(ctx context.Context, e *Entry) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	if err := r.client.Set(ctx, keyPrefix+e.Key(), e.encode(nil), r.ttl).Err(); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return nil
}

// Delete implements Backend.
func (r *remote) Delete(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	n, err := r.client.Del(ctx, keyPrefix+key).Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	if n == 0 {
		return ErrUnknown
	}
	return nil
}

// Run implements Backend: Redis does it all by itself.
func (r *remote) Run(ctx context.Context) { <-ctx.Done() }

// Trouble implements Backend.
func (r *remote) Trouble() string { return "" }

// Close implements Backend.
func (r *remote) Close() error { return r.client.Close() }
