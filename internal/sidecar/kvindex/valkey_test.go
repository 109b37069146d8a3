package kvindex

import (
	"fmt"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// On a busy machine nothing is quick, and no test is to wait for a period.
func init() { remoteTimeout, lifePeriod = 20*time.Second, 20*time.Millisecond }

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// TestShared has two sidecars share an index: each knows what the other one hears, while that one lives, also after
// Valkey has lost everything.
func TestShared(t *testing.T) {
	share(t, harness.StartValkey(t, "--appendonly", "no"))
}

func share(t *testing.T, v *harness.Valkey) {
	t.Helper()
	ctx := t.Context()
	one := newIndexer(t, Config{Redis: &RedisConfig{Address: "redis://" + v.Address}})
	two := newIndexer(t, Config{Redis: &RedisConfig{Address: "valkey://" + v.Address + "/0"}})
	keys := make([]Key, 200)
	hashes := make([]uint64, len(keys))
	for i := range keys {
		keys[i], hashes[i] = Key(i+1)<<40, uint64(i+7)
	}
	blocks := func(x *Indexer, want string) func() bool {
		return func() bool {
			hits, err := x.Lookup(ctx, nil, keys, []string{"a", "b"})
			got := ""
			for _, h := range sorted(hits) {
				got += fmt.Sprintf("%s%d:%d ", h.Endpoint, h.Rank, h.Blocks)
			}
			return err == nil && got == want
		}
	}
	a, b := Publisher{"a", 0}, Publisher{"b", 3}
	_ = one.Add(ctx, a, GPU, hashes, keys)
	_ = two.Add(ctx, b, CPU, hashes[:90], keys[:90])
	eventually(t, "the second to know the first's", blocks(two, "a0:200 b3:90 "))
	eventually(t, "the first to know the second's", blocks(one, "a0:200 b3:90 "))
	if hits, _ := one.Lookup(ctx, nil, keys, []string{"b"}); len(hits) != 1 || hits[0].ByTier[CPU] != 90 {
		t.Errorf("got %+v, want 90 blocks in the CPU's memory", hits)
	}
	_, _ = one.Evict(ctx, a, GPU, hashes[150:160])
	eventually(t, "the second to know of an eviction", blocks(two, "a0:150 b3:90 "))
	_ = two.Clear(ctx, b)
	eventually(t, "the first to know that all was cleared", blocks(one, "a0:150 "))
	v.Kill()
	_ = two.Add(ctx, b, GPU, hashes[:20], keys[:20])
	if hits, err := two.Lookup(ctx, nil, keys, []string{"b"}); err != nil || len(hits) != 1 || hits[0].Blocks != 20 {
		t.Errorf("without Valkey: got %v, %v, want what was heard here", hits, err)
	}
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first to know all again", blocks(one, "a0:150 b3:20 "))
	eventually(t, "the second to know all again", blocks(two, "a0:150 b3:20 "))
	_ = two.Close()
	eventually(t, "the first to forget what a sidecar that ended had heard", blocks(one, "a0:150 "))
	_ = one.Close()
	client := v.Client()
	defer client.Close()
	if left, err := client.Keys(ctx, "*").Result(); err != nil || len(left) != 0 {
		t.Errorf("got %d keys left, such as %v, %v", len(left), left[:min(len(left), 3)], err)
	}
}

// TestSharedAgainstModel: what one sidecar hears another one knows.
func TestSharedAgainstModel(t *testing.T) {
	v := harness.StartValkey(t, "--appendonly", "no")
	againstModel(t, newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}}).Index)
}

// TestSuperseded: what a sidecar wrote that was killed is believed until another one hears the same publisher.
func TestSuperseded(t *testing.T) {
	v := harness.StartValkey(t, "--appendonly", "no")
	ctx := t.Context()
	a := Publisher{"a", 0}
	client := v.Client()
	defer client.Close()
	// As if it had just been killed: it still counts as alive.
	client.Set(ctx, remotePrefix+"live:dead", 1, time.Hour)
	client.HSet(ctx, heardName, "0|a", "dead")
	client.HSet(ctx, keyName(1), fieldOf("dead", a, GPU), 1)
	client.SAdd(ctx, remotePrefix+"i:dead", keyName(1)+" "+fieldOf("dead", a, GPU))
	client.SAdd(ctx, instancesName, "dead")
	other := newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}})
	knows := func(key Key) bool {
		hits, _ := other.Lookup(ctx, nil, []Key{key}, []string{"a"})
		return len(hits) == 1
	}
	eventually(t, "the dead one's to be known", func() bool { return knows(1) })
	back := newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}})
	_ = back.Add(ctx, a, GPU, []uint64{2}, []Key{2})
	eventually(t, "what is heard now to be known, and no more", func() bool { return knows(2) && !knows(1) })
	if hits, err := other.Lookup(ctx, nil, []Key{2}, []string{"a"}); err != nil || len(hits) != 1 {
		t.Errorf("got %v, %v, want it still known", hits, err)
	}
	_ = back.Drop(ctx, "a")
	eventually(t, "an endpoint that left to be claimed by nobody", func() bool {
		return client.HLen(ctx, heardName).Val() == 0
	})
}

// TestKilled: what a sidecar wrote that was killed is tidied up by those that live.
func TestKilled(t *testing.T) {
	v := harness.StartValkey(t, "--appendonly", "no")
	ctx := t.Context()
	killed := newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}})
	_ = killed.Add(ctx, Publisher{"a", 0}, GPU, []uint64{1}, []Key{1})
	other := newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}})
	knows := func() bool {
		hits, _ := other.Lookup(ctx, nil, []Key{1}, []string{"a"})
		return len(hits) == 1
	}
	eventually(t, "the other to know", knows)
	r := killed.Index.(*remote)
	r.stop()
	r.done.Wait()
	// As if it had not been able to tidy up: its set and its entry, but no sign of life.
	client := v.Client()
	defer client.Close()
	name := writeAsDead(ctx, client)
	eventually(t, "the dead one's entries to go", func() bool {
		return client.Exists(ctx, name).Val() == 0 && !knows()
	})
}
