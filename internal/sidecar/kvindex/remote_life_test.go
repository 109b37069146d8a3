package kvindex

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
)

// pipelines has every pipeline go through it. It implements redis.Hook.
type pipelines func(commands []redis.Cmder, next func() error) error

// DialHook implements redis.Hook.
func (p pipelines) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (p pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (p pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		return p(commands, func() error { return next(ctx, commands) })
	}
}

// TestTidiedInTheEnd: what could not be taken away at first, as Redis was gone at that moment, is not forgotten.
func TestTidiedInTheEnd(t *testing.T) {
	v := harness.StartValkey(t, "--appendonly", "no")
	ctx := t.Context()
	x := newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}})
	var failed atomic.Bool
	isDeleted := func(command redis.Cmder) bool { return command.Name() == "hdel" }
	x.Index.(*remote).client.AddHook(pipelines(func(commands []redis.Cmder, next func() error) error {
		if slices.ContainsFunc(commands, isDeleted) && failed.CompareAndSwap(false, true) {
			return errors.New("gone")
		}
		return next()
	}))
	client := v.Client()
	defer client.Close()
	name, field := keyName(1), fieldOf("dead", Publisher{"a", 0}, GPU)
	client.HSet(ctx, name, field, 1)
	client.SAdd(ctx, remotePrefix+"i:dead", name+" "+field)
	client.SAdd(ctx, instancesName, "dead")
	eventually(t, "the dead one to be taken for one", func() bool {
		return failed.Load() && !client.SIsMember(ctx, instancesName, "dead").Val()
	})
	if left, err := client.HKeys(ctx, name).Result(); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v of what it had written, want nothing", left, err)
	}
}
