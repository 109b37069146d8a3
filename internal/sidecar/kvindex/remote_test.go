package kvindex

import (
	"context"
	"fmt"
	"slices"
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

// answers counts the answers of Redis that are waited for. It implements redis.Hook.
type answers struct{ waited atomic.Int64 }

// DialHook implements redis.Hook.
func (a *answers) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (a *answers) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		a.waited.Add(1)
		return next(ctx, command)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (a *answers) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		a.waited.Add(1)
		return next(ctx, commands)
	}
}

// TestManySidecars: to show life, and to see who else lives, takes no more answers of Redis with many sidecars than
// with few: where each takes a while, they would together take longer than a sign of life lasts.
func TestManySidecars(t *testing.T) {
	v := harness.StartValkey(t, "--appendonly", "no")
	ctx := t.Context()
	client := v.Client()
	t.Cleanup(func() { _ = client.Close() })
	const sidecars = 50
	for i := range sidecars {
		client.SAdd(ctx, instancesName, fmt.Sprint("sidecar", i))
		client.Set(ctx, fmt.Sprint(remotePrefix, "live:sidecar", i), 1, time.Hour)
	}
	period := lifePeriod
	lifePeriod = time.Hour
	x := newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}})
	t.Cleanup(func() {
		_ = x.Close()
		lifePeriod = period
	})
	r := x.Index.(*remote)
	eventually(t, "all sidecars to be known", func() bool { return len(r.others.Load().live) == sidecars+1 })
	var a answers
	r.client.AddHook(&a)
	if err := r.showLife(ctx); err != nil {
		t.Fatal(err)
	}
	if n := a.waited.Load(); n > 2 || len(r.others.Load().live) != sidecars+1 {
		t.Errorf("waited for %d answers and found %d alive, want 2 and %d", n, len(r.others.Load().live), sidecars+1)
	}
}

// TestCopyTakesLittle: a copy of what a publisher holds has no name of its own for each block: when Redis is back, all
// sidecars make one at the same time.
func TestCopyTakesLittle(t *testing.T) {
	r := &remote{memory: newMemory(DefaultWeights, DefaultSize, 0), instance: "i"}
	const blocks = 1000
	for key := range Key(blocks) {
		_ = r.Add(t.Context(), Publisher{"a", 3}, CPU, []uint64{uint64(key)}, []Key{key})
	}
	p := r.everybody()[0]
	if n := testing.AllocsPerRun(3, func() { r.holdings(p) }); n > blocks/10 {
		t.Errorf("got %v allocations for %d blocks, want a few", n, blocks)
	}
	all := r.holdings(p)
	if want := (told{7, "i|3|1|a", true}); len(all) != blocks || !slices.Contains(all, want) {
		t.Errorf("got %d blocks, want %d and %+v among them", len(all), blocks, want)
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
