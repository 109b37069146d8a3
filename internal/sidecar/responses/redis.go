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
	client redis.UniversalClient
	ttl    time.Duration
}

// keyPrefix begins the names of all entries in Redis.
const keyPrefix = "pintle:responses:"

// redisTimeout bounds each operation: the filter does not wait longer.
var redisTimeout = 300 * time.Millisecond

// newRemote does not connect yet: a Redis that is away is so for some requests, and not for the sidecar.
func newRemote(config scoring.StoreRedis) (*remote, error) {
	client, err := redisclient.New(config, redisTimeout)
	if err != nil {
		return nil, fmt.Errorf("tieredConfig.redis.address: %w", err)
	}
	return &remote{client: client, ttl: config.TTL}, nil
}

// TTL implements Backend.
func (r *remote) TTL() time.Duration { return r.ttl }

// Get implements Backend.
func (r *remote) Get(ctx context.Context, key string) (*Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	value, err := r.client.Get(ctx, keyPrefix+key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, ErrUnknown
	}
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	e, err := decode(value)
	if err == nil && !time.Now().Before(e.Expires) {
		err = ErrUnknown
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

// Close implements Backend.
func (r *remote) Close() error { return r.client.Close() }
