package responses

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/scoring"
)

// secondTier is what is behind Redis. What it is told to keep may come more than once, in any order: of all records of
// one key the result is the same.
type secondTier interface {
	// Get returns the value of a key, or ErrUnknown for what it has not, was deleted or has expired.
	Get(ctx context.Context, key string) ([]byte, error)
	// Keep keeps records, but for those that are refused, by their keys. After an error it may have kept some.
	Keep(ctx context.Context, all []record) (refused map[string]error, err error)
	// Close ends the use.
	Close() error
}

// record is what the second tier keeps. A nil value is that of a deleted key: no other value takes its place.
type record struct {
	key     string
	value   []byte
	expires time.Time
}

// secondName is the second tier in metrics.
const secondName = "mongo"

// errSecond is a failure of the second tier.
var errSecond = errors.New("second tier")

// tiered keeps entries in Redis, and has a consumer bring them to a second tier behind it, which it reads what Redis no
// longer has from. An entry is acknowledged when Redis has it, and a message in the stream sees to it that it gets to
// the second tier. Until then Redis keeps it for its whole time, and then for redis.ttl: what the second tier cannot
// take is not lost, whatever becomes of the stream.
type tiered struct {
	*remote
	config   scoring.StoreTiers
	second   secondTier
	consumer *consumer
	log      *slog.Logger
	// unwritten is whether Redis takes nothing back.
	unwritten outage
}

func newTiered(config scoring.StoreTiers, second secondTier, metrics *Metrics, log *slog.Logger) (*tiered, error) {
	r, err := newRemote(config.Redis, metrics)
	if err != nil {
		return nil, err
	}
	t := &tiered{remote: r, config: config, second: second, log: log}
	t.consumer, err = newConsumer(config, second, metrics, log)
	return t, err
}

// TTL implements Backend.
func (t *tiered) TTL() time.Duration { return lifetime(&t.config) }

// lifetime is how long an entry is kept in either tier.
func lifetime(c *scoring.StoreTiers) time.Duration { return max(c.Redis.TTL, c.Mongo.TTL) }

// Get implements Backend.
func (t *tiered) Get(ctx context.Context, key string) (*Entry, error) {
	value, err := t.read(ctx, key)
	if err == errAbsent {
		return t.readThrough(ctx, key)
	}
	if err != nil {
		return nil, err
	}
	return decodeFresh(value)
}

// readThrough gets an entry from the second tier, and has Redis keep it for what is left of its time.
func (t *tiered) readThrough(ctx context.Context, key string) (*Entry, error) {
	began := time.Now()
	value, err := t.second.Get(ctx, key)
	t.metrics.took(secondName, "get", began)
	var e *Entry
	if err == nil {
		e, err = decodeFresh(value)
	}
	t.metrics.looked(ctx, secondName, e, err)
	if errors.Is(err, ErrUnknown) {
		return nil, ErrUnknown
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSecond, err)
	}
	e.second = true
	t.writeBack(ctx, key, value, min(time.Until(e.Expires), t.config.Redis.TTL))
	return e, nil
}

// writeBack has Redis keep what the second tier has. If it was deleted meanwhile it stays so.
func (t *tiered) writeBack(ctx context.Context, key string, value []byte, left time.Duration) {
	limited, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	err := t.client.SetNX(limited, keyPrefix+key, value, max(left, time.Millisecond)).Err()
	switch now := time.Now(); {
	case err == nil:
		t.metrics.moved("redis", "written", len(value))
		if failures := t.unwritten.succeeded(now); failures > 0 {
			t.log.Info("entries of the second tier are written back to redis again", "failures", failures)
		}
	case ctx.Err() == nil && t.unwritten.failed(err.Error(), now):
		t.log.Warn("entries of the second tier cannot be written back to redis", "error", err)
	}
}

// Put implements Backend. What is deleted stays so: the filter may tell it again what was acknowledged before.
func (t *tiered) Put(ctx context.Context, e *Entry) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	if kept, err := t.set(ctx, e, t.TTL()); err != nil || !kept {
		return err
	}
	return t.tell(ctx, e.Key())
}

// Delete implements Backend.
func (t *tiered) Delete(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	if err := t.client.Set(ctx, keyPrefix+key, tombstone, t.TTL()).Err(); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return t.tell(ctx, key)
}

// tell writes into the stream that a key has another value. That has been set before: who reads the message finds it.
func (t *tiered) tell(ctx context.Context, key string) error {
	err := t.client.XAdd(ctx, &redis.XAddArgs{
		Stream: t.config.Stream.Key, MaxLen: t.config.Stream.MaxLen, Approx: true, Values: []any{"key", key},
	}).Err()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return nil
}

// Run implements Backend: it brings to the second tier what the stream tells of.
func (t *tiered) Run(ctx context.Context) { t.consumer.run(ctx) }

// Trouble implements Backend.
func (t *tiered) Trouble() string { return t.consumer.trouble() }

// Close implements Backend.
func (t *tiered) Close() error { return errors.Join(t.client.Close(), t.second.Close()) }
