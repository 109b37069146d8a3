package kvindex

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// TestLivesWhileItWrites: a sidecar that writes, copies or takes away more than its sign of life lasts for counts as
// alive all the while. Others would take its copy away, and it would begin anew each time.
func TestLivesWhileItWrites(t *testing.T) {
	v := harness.StartValkey(t, "--appendonly", "no")
	ctx := t.Context()
	x := newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}})
	r := x.Index.(*remote)
	client := v.Client()
	defer client.Close()
	var written, copied, tidied, unseen atomic.Int64
	r.client.AddHook(pipelines(func(commands []redis.Cmder, next func() error) error {
		kinds := map[string]int{}
		for _, command := range commands {
			kinds[command.Name()]++
		}
		switch {
		case kinds["hset"] >= remoteBatch/2 && copied.Load() > 0:
			copied.Add(1)
		case kinds["hset"] >= remoteBatch/2:
			written.Add(1)
		case kinds["hdel"] >= remoteBatch/2:
			tidied.Add(1)
		default:
			return next()
		}
		client.Expire(ctx, r.lifeName(), time.Hour)
		err := next()
		if left := client.PTTL(ctx, r.lifeName()).Val(); left <= 0 || left > lifeTime {
			unseen.Add(1)
		}
		return err
	}))
	const blocks = 8 * remoteBatch
	keys := make([]Key, blocks)
	hashes := make([]uint64, blocks)
	for i := range keys {
		keys[i], hashes[i] = Key(i+1)<<40, uint64(i+1)
	}
	_ = x.Add(ctx, Publisher{"a", 0}, GPU, hashes, keys)
	eventually(t, "all to be written", func() bool {
		return client.HLen(ctx, keyName(keys[blocks-1])).Val() == 1
	})
	copied.Store(1)
	r.renew()
	eventually(t, "the copy to be made anew, and the old one to be gone", func() bool {
		return copied.Load() > 8 && tidied.Load() >= 8
	})
	if n := unseen.Load(); n > 0 {
		t.Errorf("of %d batches %d did not show that the sidecar lives, want all to",
			written.Load()+copied.Load()-1+tidied.Load(), n)
	}
}

// writeAsDead leaves what a sidecar that died has written, and returns the name of its one key. It is named last:
// whoever finds the name tidies up at once, and only once.
func writeAsDead(ctx context.Context, client *redis.Client) (name string) {
	name = keyName(1)
	field := fieldOf("dead", Publisher{"a", 0}, GPU)
	client.HSet(ctx, name, field, 1)
	client.SAdd(ctx, remotePrefix+"i:dead", name+" "+field)
	client.SAdd(ctx, instancesName, "dead")
	return name
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
	name := writeAsDead(ctx, client)
	eventually(t, "the dead one to be taken for one", func() bool {
		return failed.Load() && !client.SIsMember(ctx, instancesName, "dead").Val()
	})
	if left, err := client.HKeys(ctx, name).Result(); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v of what it had written, want nothing", left, err)
	}
}

// TestFullOfTheDead: a full Redis has room again once what dead sidecars have written is taken away, and that alone.
func TestFullOfTheDead(t *testing.T) {
	v := harness.StartValkey(t, "--appendonly", "no")
	ctx := t.Context()
	client := v.Client()
	defer client.Close()
	dead, living := writeAsDead(ctx, client), keyName(2)
	field := fieldOf("living", Publisher{"b", 0}, GPU)
	client.HSet(ctx, living, field, 1)
	client.SAdd(ctx, remotePrefix+"i:living", living+" "+field)
	client.SAdd(ctx, instancesName, "living")
	client.Set(ctx, remotePrefix+"live:living", 1, 0)
	if err := client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}})
	eventually(t, "the dead one to be gone", func() bool {
		return client.Exists(ctx, dead).Val() == 0 && !client.SIsMember(ctx, instancesName, "dead").Val()
	})
	if got, err := client.HKeys(ctx, living).Result(); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v of the living one, want what it has written", got, err)
	}
}

// TestOneCopyAtMost: copies that were begun in vain do not pile up, however often Redis goes while they are written.
func TestOneCopyAtMost(t *testing.T) {
	v := harness.StartValkey(t, "--appendonly", "no")
	ctx := t.Context()
	x := newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}})
	client := v.Client()
	defer client.Close()
	var batches, most atomic.Int64
	const fails = 5
	x.Index.(*remote).client.AddHook(pipelines(func(commands []redis.Cmder, next func() error) error {
		if len(commands) < remoteBatch {
			return next()
		}
		if n := batches.Add(1); n%3 == 0 && n <= 3*fails {
			most.Store(max(most.Load(), client.SCard(ctx, instancesName).Val()))
			return errors.New("gone")
		}
		return next()
	}))
	keys := make([]Key, 4*remoteBatch)
	hashes := make([]uint64, len(keys))
	for i := range keys {
		keys[i], hashes[i] = Key(i+1)<<40, uint64(i+1)
	}
	_ = x.Add(ctx, Publisher{"a", 0}, GPU, hashes, keys)
	x.Index.(*remote).renew()
	eventually(t, "the copy to be made in the end", func() bool {
		return batches.Load() > 3*fails && client.HLen(ctx, heardName).Val() == 1
	})
	if n := most.Load(); n > 1 {
		t.Errorf("got %d copies at the same time, want 1 at most", n)
	}
}

// TestCopyWhileMuchHappens: what publishers say while a copy is made anew is written beside it. Had it to wait for the
// copy's end it would be more than may wait where a copy is large, and the copy be made anew without end.
func TestCopyWhileMuchHappens(t *testing.T) {
	v := harness.StartValkey(t, "--appendonly", "no")
	ctx := t.Context()
	x := newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}})
	r := x.Index.(*remote)
	client := v.Client()
	defer client.Close()
	const publishers, each = 9, maxTold / 8
	const quiet = "|0|quiet"
	var copies, said atomic.Int64
	var renewed atomic.Bool
	r.client.AddHook(pipelines(func(commands []redis.Cmder, next func() error) error {
		isCopied := func(command redis.Cmder) bool {
			return command.Name() == "hset" && strings.HasSuffix(fmt.Sprint(command.Args()[2]), quiet)
		}
		isBegun := func(command redis.Cmder) bool { return command.Name() == "set" && len(commands) == 2 }
		if !renewed.Load() {
			return next()
		}
		if slices.ContainsFunc(commands, isBegun) {
			copies.Add(1)
		}
		if slices.ContainsFunc(commands, isCopied) && said.Load() < 3*publishers {
			keys, hashes := make([]Key, each), make([]uint64, each)
			for i, n := 0, uint64(said.Add(1))*each; i < each; i++ {
				keys[i], hashes[i] = Key(n+uint64(i)), n+uint64(i)
			}
			_ = x.Add(ctx, Publisher{"busy", 0}, GPU, hashes, keys)
		}
		return next()
	}))
	for rank := range publishers {
		_ = x.Add(ctx, Publisher{"quiet", rank}, GPU, []uint64{1}, []Key{Key(rank + 1)})
	}
	eventually(t, "all to be written", func() bool { return client.HLen(ctx, heardName).Val() == publishers })
	renewed.Store(true)
	r.renew()
	eventually(t, "the copy to be made anew, with what was said meanwhile", func() bool {
		n := said.Load()
		return n >= publishers && client.HLen(ctx, heardName).Val() == publishers+1 &&
			client.Exists(ctx, keyName(Key(n*each+each-1))).Val() == 1
	})
	if n := copies.Load(); n != 1 {
		t.Errorf("the copy was made %d times, want once", n)
	}
}
