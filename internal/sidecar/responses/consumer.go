package responses

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/sidecar/redisclient"
	"github.com/pintle-dev/pintle/scoring"
)

// consumer brings what the stream tells of to the second tier. A message is acknowledged, and leaves the stream, once
// that has it: what a consumer has read when it ends another one claims after claimAge.
type consumer struct {
	client  redis.UniversalClient
	config  scoring.StoreTiers
	stream  scoring.StoreStream
	second  secondTier
	metrics *Metrics
	log     *slog.Logger
	name    string
	// held are messages that were read, and wait for the second tier.
	held []redis.XMessage
	// cursor is how far claiming has come, nextClaim when it begins anew, nextTidy when to forget consumers that ended.
	cursor              string
	nextClaim, nextTidy time.Time
	// nextRefused is when to log again what is refused.
	nextRefused time.Time
	// failure is why nothing goes on, nil while it does.
	failure atomic.Pointer[string]
}

const (
	// consumerTimeout bounds what the consumer waits for Redis.
	consumerTimeout = 5 * time.Second
	// retryPause is how long the consumer waits when something fails.
	retryPause = 500 * time.Millisecond
	// tidyPeriod is for how long a consumer has to be silent to be forgotten, and how often that is looked for.
	tidyPeriod = time.Hour
	// refusedPeriod is how often it is logged that messages are refused.
	refusedPeriod = time.Minute
	// together is how many entries are brought at once: they are in memory meanwhile.
	together = 16
)

func newConsumer(config scoring.StoreTiers, second secondTier, metrics *Metrics, log *slog.Logger) (*consumer, error) {
	client, err := redisclient.New(config.Redis, redisclient.Security{}, max(redisTimeout, consumerTimeout))
	if err != nil {
		return nil, fmt.Errorf("tieredConfig.redis.address: %w", err)
	}
	return &consumer{client: client, config: config, stream: config.Stream, second: second, metrics: metrics, log: log,
		name: rand.Text(), cursor: "0-0"}, nil
}

// run brings messages until ctx ends.
func (c *consumer) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { _ = c.client.Close() }) // whatever it waits for
	defer stop()
	for ctx.Err() == nil {
		err := c.step(ctx)
		if isGroupMissing(err) {
			err = c.createGroup(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		c.note(err)
		if err == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// isGroupMissing reports whether Redis says that there is no such group, or no stream, as XINFO then does.
func isGroupMissing(err error) bool {
	return err != nil && (strings.HasPrefix(err.Error(), "NOGROUP") || strings.HasSuffix(err.Error(), "no such key"))
}

// note keeps and logs why nothing goes on, once.
func (c *consumer) note(err error) {
	if err == nil {
		if c.failure.Swap(nil) != nil {
			c.log.Info("responses are brought to mongo again")
		}
		return
	}
	text := err.Error()
	if c.failure.Swap(&text) == nil {
		c.log.Warn("bringing responses to mongo fails; redis keeps them until that is over", "error", err)
	}
}

// trouble is why nothing goes on, empty while it does.
func (c *consumer) trouble() string {
	if failure := c.failure.Load(); failure != nil {
		return "responses: they cannot be brought to mongo: " + *failure
	}
	return ""
}

// createGroup creates stream and group, from the stream's beginning.
func (c *consumer) createGroup(ctx context.Context) error {
	err := c.client.XGroupCreateMkStream(ctx, c.stream.Key, c.stream.Group, "0").Err()
	if err != nil && strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return nil
	}
	return err
}

// step brings one batch: what is held already, or else what others have left, from time to time, or what is new.
func (c *consumer) step(ctx context.Context) (err error) {
	if len(c.held) == 0 {
		switch {
		case time.Now().After(c.nextClaim):
			err = c.claim(ctx)
		case time.Now().After(c.nextTidy):
			return c.tidy(ctx, tidyPeriod)
		default:
			err = c.read(ctx)
		}
	}
	for err == nil && len(c.held) > 0 {
		err = c.bring(ctx)
	}
	if err != nil {
		return err
	}
	waiting, err := c.client.XLen(ctx, c.stream.Key).Result()
	c.metrics.waiting.WithLabelValues().Set(float64(waiting))
	return err
}

// read waits for what is new.
func (c *consumer) read(ctx context.Context) error {
	// Claiming shall not wait for what is new.
	block := max(min(c.stream.BlockTimeout, c.stream.ClaimAge/2), time.Millisecond)
	read, err := c.client.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: c.stream.Group, Consumer: c.name, Streams: []string{c.stream.Key, ">"},
		Count: int64(c.stream.BatchSize), Block: block,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	for _, stream := range read {
		c.held = append(c.held, stream.Messages...)
	}
	return err
}

// claim takes over a batch of what consumers, this one too, have read and not acknowledged for claimAge.
func (c *consumer) claim(ctx context.Context) error {
	messages, next, err := c.client.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: c.stream.Key, Group: c.stream.Group, Consumer: c.name, MinIdle: c.stream.ClaimAge, Start: c.cursor,
		Count: int64(c.stream.BatchSize),
	}).Result()
	if err != nil {
		return err
	}
	c.metrics.synced.WithLabelValues("claimed").Add(float64(len(messages)))
	c.held = messages
	if c.cursor = next; next == "0-0" || next == "" {
		c.cursor, c.nextClaim = "0-0", time.Now().Add(c.stream.ClaimAge/2)
	}
	return nil
}

// tidyScript forgets the consumer ARGV[2] of the group ARGV[1] if it has nothing left to bring.
const tidyScript = `if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then return 0 end
return redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])`

// tidy forgets consumers that were silent for so long and so have ended: each start of a sidecar is one more.
func (c *consumer) tidy(ctx context.Context, silent time.Duration) error {
	all, err := c.client.XInfoConsumers(ctx, c.stream.Key, c.stream.Group).Result()
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Name == c.name || other.Pending > 0 || other.Idle < silent {
			continue
		}
		if err := c.client.Eval(ctx, tidyScript, []string{c.stream.Key}, c.stream.Group, other.Name).Err(); err != nil {
			return err
		}
	}
	c.nextTidy = time.Now().Add(tidyPeriod)
	return nil
}

// bring has the second tier keep what the first of the messages that are held tell of, and acknowledges them. Those
// that are refused stay in the stream: claiming brings them here again.
func (c *consumer) bring(ctx context.Context) error {
	messages := c.held[:min(len(c.held), together)]
	began := time.Now()
	refused, err := c.keep(ctx, messages)
	c.metrics.took(secondName, "put", began)
	if err != nil {
		c.metrics.synced.WithLabelValues("failed").Add(float64(len(messages)))
		return err
	}
	c.held = c.held[len(messages):]
	c.metrics.synced.WithLabelValues("done").Add(float64(len(messages) - len(refused)))
	c.metrics.synced.WithLabelValues("refused").Add(float64(len(refused)))
	c.noteRefused(refused)
	return nil
}

// noteRefused logs one of the messages that are refused, now and then: there may be as many as responses, and claiming
// brings each again and again.
func (c *consumer) noteRefused(refused map[string]error) {
	for key, why := range refused {
		if now := time.Now(); !now.Before(c.nextRefused) {
			c.nextRefused = now.Add(refusedPeriod)
			c.log.Warn("a response cannot be brought to mongo; redis keeps it", "key", key, "error", why)
		}
	}
}

func (c *consumer) keep(ctx context.Context, messages []redis.XMessage) (refused map[string]error, err error) {
	all, refused, err := c.records(ctx, messages)
	if err != nil {
		return nil, err
	}
	if len(all) > 0 {
		more, err := c.second.Keep(ctx, all)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errSecond, err)
		}
		maps.Copy(refused, more)
	}
	if err := c.shorten(ctx, all, refused); err != nil {
		return nil, err
	}
	var done []string
	for _, m := range messages {
		if refused[keyIn(m)] == nil {
			done = append(done, m.ID)
		}
	}
	if len(done) == 0 {
		return refused, nil
	}
	_, err = c.client.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.XAck(ctx, c.stream.Key, c.stream.Group, done...)
		tx.XDel(ctx, c.stream.Key, done...)
		return nil
	})
	return refused, err
}

// keyIn is the key that a message tells of.
func keyIn(m redis.XMessage) string {
	key, _ := m.Values["key"].(string)
	return key
}

// records are what the messages tell of, as Redis has it now. What it no longer has has expired, and what another
// release has written is left to that one's consumers.
func (c *consumer) records(ctx context.Context, messages []redis.XMessage) (all []record, unread map[string]error,
	err error) {
	values := map[string]*redis.StringCmd{}
	_, err = c.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, m := range messages {
			if key := keyIn(m); key != "" && values[key] == nil {
				values[key] = p.Get(ctx, keyPrefix+key)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, nil, err
	}
	unread = map[string]error{}
	for key, command := range values {
		value, err := command.Bytes()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if string(value) == tombstone {
			all = append(all, record{key: key, expires: time.Now().Add(lifetime(&c.config))})
		} else if e, err := decode(value); err == nil {
			all = append(all, record{key, value, c.stored(e).Add(c.config.Mongo.TTL)})
		} else if _, other := errors.AsType[*otherVersion](err); other {
			unread[key] = err
		}
	}
	return all, unread, nil
}

// stored is when an entry was stored.
func (c *consumer) stored(e *Entry) time.Time { return e.Expires.Add(-lifetime(&c.config)) }

// shortenScript has KEYS[1] expire at ARGV[1], unless it was deleted meanwhile.
const shortenScript = `if redis.call('STRLEN', KEYS[1]) > 1 then redis.call('PEXPIREAT', KEYS[1], ARGV[1]) end
return 1`

// shorten has Redis keep what the second tier has for no longer than redis.ttl.
func (c *consumer) shorten(ctx context.Context, all []record, refused map[string]error) error {
	_, err := c.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, r := range all {
			name := keyPrefix + r.key
			switch {
			case refused[r.key] != nil:
			case r.value == nil:
				p.PExpire(ctx, name, c.config.Redis.TTL)
			default:
				at := r.expires.Add(c.config.Redis.TTL - c.config.Mongo.TTL)
				p.Eval(ctx, shortenScript, []string{name}, at.UnixMilli())
			}
		}
		return nil
	})
	return err
}
