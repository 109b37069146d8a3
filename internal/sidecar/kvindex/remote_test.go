package kvindex

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
)

// counter counts the looks at who hears which publisher. It implements redis.Hook.
type counter struct{ looks atomic.Int64 }

// DialHook implements redis.Hook.
func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		for _, command := range commands {
			if command.Name() == "hgetall" {
				c.looks.Add(1)
			}
		}
		return next(ctx, commands)
	}
}

// TestLooksOncePerPeriod: events are written as they come, and do not have it looked each time who else lives: that
// costs the server the more the more sidecars there are.
func TestLooksOncePerPeriod(t *testing.T) {
	v := harness.StartValkey(t)
	period := lifePeriod
	lifePeriod = time.Hour
	x := newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}})
	t.Cleanup(func() {
		_ = x.Close()
		lifePeriod = period
	})
	var c counter
	x.Index.(*remote).client.AddHook(&c)
	client := v.Client()
	t.Cleanup(func() { _ = client.Close() })
	write := func(key Key) {
		_ = x.Add(t.Context(), Publisher{"a", 0}, GPU, []uint64{uint64(key)}, []Key{key})
		eventually(t, "a block to be written", func() bool {
			n, err := client.HLen(t.Context(), keyName(key)).Result()
			return err == nil && n == 1
		})
	}
	write(1)
	write(2)
	looks := c.looks.Load()
	for key := range Key(20) {
		write(3 + key)
	}
	if more := c.looks.Load() - looks; more > 1 {
		t.Errorf("looked %d times while 20 blocks were written within a period, want none", more)
	}
}
