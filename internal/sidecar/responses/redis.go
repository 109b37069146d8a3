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

// tombstone is what an entry leaves that was deleted: it shall not come back from the second tier, nor from a filter
// that tells it again. No encoded entry is as short.
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

// putScript sets KEYS[1] to ARGV[1] for ARGV[2] ms, unless it is deleted.
var putScript = redis.NewScript(`if redis.call('STRLEN', KEYS[1]) == 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)

// set has Redis keep an entry. kept is false for one that is deleted.
func (r *remote) set(ctx context.Context, e *Entry, ttl time.Duration) (kept bool, err error) {
	set, err := putScript.Run(ctx, r.client, []string{keyPrefix + e.Key()}, e.encode(nil), ttl.Milliseconds()).Int()
	if err != nil {
		return false, fmt.Errorf("redis: %w", err)
	}
	return set == 1, nil
}

// Put implements Backend. If it fails the caller does it again, which changes nothing.
func (r *remote) Put(ctx context.Context, e *Entry) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	_, err := r.set(ctx, e, r.ttl)
	return err
}

// deleteScript has KEYS[1] be deleted, with the tombstone ARGV[1] for ARGV[2] ms, if it is an entry.
var deleteScript = redis.NewScript(`if redis.call('STRLEN', KEYS[1]) <= 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)

// Delete implements Backend.
func (r *remote) Delete(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	n, err := deleteScript.Run(ctx, r.client, []string{keyPrefix + key}, tombstone, deletedFor.Milliseconds()).Int()
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
