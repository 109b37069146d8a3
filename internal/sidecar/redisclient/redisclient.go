// Package redisclient connects the sidecar to Redis and Valkey: to one server, to the master that Sentinels know, or to
// a Cluster.
package redisclient

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/scoring"
)

// silent keeps the client from writing to stderr by itself: what fails is told by who asked.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }

// ErrAddress is an address that is no URL.
var ErrAddress = errors.New("is not a URL such as redis://host:6379/0")

// Parse reads the URL of one server: redis://, valkey://, and with an s behind for TLS. Its error is ErrAddress.
func Parse(address string) (*redis.Options, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	o, err := redis.ParseURL(strings.Replace(scheme, "valkey", "redis", 1) + "://" + rest)
	if err != nil {
		return nil, ErrAddress
	}
	return o, nil
}

// Security is what a configuration of servers may leave out. The zero value adds nothing.
type Security struct {
	// TLS is how all servers are reached; nil is as the URL says.
	TLS *tls.Config
	// SentinelPassword is that of the Sentinels.
	SentinelPassword string
}

// New connects to one server by a URL; to the master that Sentinels know, with masterName; to a Cluster, with several
// addresses; and to one server, with one. It does so with the first operation: a server that is away is no mistake.
// timeout bounds connecting, writing, and reading what does not wait; it and the tries are none of a URL's options.
func New(c scoring.StoreRedis, s Security, timeout time.Duration) (redis.UniversalClient, error) {
	o := &redis.UniversalOptions{
		Addrs: c.Addresses, MasterName: c.MasterName, Username: c.Username, Password: c.Password, DB: c.DB,
		DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout, ContextTimeoutEnabled: true,
		TLSConfig: s.TLS, SentinelPassword: s.SentinelPassword,
		MaxRetries: 2, MinRetryBackoff: 5 * time.Millisecond, MaxRetryBackoff: 20 * time.Millisecond,
		// Three dials with each of an operation's three tries take three fifths of its time: a server that restarts
		// meanwhile is met, and one that stays away ends the operation by why nobody can connect, not as late.
		DialerRetries: 3, DialerRetryTimeout: timeout / 10,
	}
	if c.Address == "" {
		return redis.NewUniversalClient(o), nil
	}
	parsed, err := Parse(c.Address)
	if err != nil {
		return nil, err
	}
	o.Addrs = []string{parsed.Addr}
	if s.TLS == nil {
		o.TLSConfig = parsed.TLSConfig
	}
	if c.Username == "" {
		o.Username = parsed.Username
	}
	if c.Password == "" {
		o.Password = parsed.Password
	}
	if c.DB == 0 {
		o.DB = parsed.DB
	}
	o.ClientName, o.Protocol = parsed.ClientName, parsed.Protocol
	o.PoolFIFO, o.PoolSize, o.PoolTimeout = parsed.PoolFIFO, parsed.PoolSize, parsed.PoolTimeout
	o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = parsed.MinIdleConns, parsed.MaxIdleConns, parsed.MaxActiveConns
	o.ConnMaxIdleTime, o.ConnMaxLifetime = parsed.ConnMaxIdleTime, parsed.ConnMaxLifetime
	o.ConnMaxLifetimeJitter, o.MaxConcurrentDials = parsed.ConnMaxLifetimeJitter, parsed.MaxConcurrentDials
	o.PipelinePoolSize = parsed.PipelinePoolSize
	o.PipelineReadBufferSize, o.PipelineWriteBufferSize = parsed.PipelineReadBufferSize, parsed.PipelineWriteBufferSize
	return redis.NewUniversalClient(o), nil
}
