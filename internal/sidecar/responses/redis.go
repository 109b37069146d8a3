package responses

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

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

// silent keeps the client from writing to stderr by itself: what fails is told by who asked.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }

// newRemote does not connect yet: a Redis that is away is so for some requests, and not for the sidecar.
func newRemote(config scoring.StoreRedis) (*remote, error) {
	client, err := newClient(config)
	if err != nil {
		return nil, err
	}
	return &remote{client: client, ttl: config.TTL}, nil
}

// newClient connects to one server by a URL; to the master that Sentinels know, with masterName; to a Cluster, with
// several addresses; and to one server, with one.
func newClient(c scoring.StoreRedis) (redis.UniversalClient, error) {
	o := &redis.UniversalOptions{
		Addrs: c.Addresses, MasterName: c.MasterName, Username: c.Username, Password: c.Password, DB: c.DB,
		DialTimeout: redisTimeout, ReadTimeout: redisTimeout, WriteTimeout: redisTimeout, ContextTimeoutEnabled: true,
		MaxRetries: 2, MinRetryBackoff: 5 * time.Millisecond, MaxRetryBackoff: 20 * time.Millisecond,
	}
	if c.Address == "" {
		return redis.NewUniversalClient(o), nil
	}
	scheme, rest, _ := strings.Cut(c.Address, "://")
	parsed, err := redis.ParseURL(strings.Replace(scheme, "valkey", "redis", 1) + "://" + rest)
	if err != nil {
		return nil, errors.New("tieredConfig.redis.address: is not a URL such as redis://host:6379/0")
	}
	o.Addrs, o.TLSConfig = []string{parsed.Addr}, parsed.TLSConfig
	if c.Username == "" {
		o.Username = parsed.Username
	}
	if c.Password == "" {
		o.Password = parsed.Password
	}
	if c.DB == 0 {
		o.DB = parsed.DB
	}
	return redis.NewUniversalClient(o), nil
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
