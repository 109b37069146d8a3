package kvindex

import (
	"math"
	"testing"
	"time"
)

// TestBackend: what bounds an index in memory, and what a block is worth in each tier, by the configuration.
func TestBackend(t *testing.T) {
	type bounds struct {
		size, bytes int64
		weights     Weights
		ttl         time.Duration
	}
	usual := Weights{1, 0.8, 0.5}
	for _, test := range []struct {
		name   string
		config Config
		want   bounds
	}{
		{"nothing said", Config{}, bounds{100_000_000, 0, usual, 0}},
		{"in memory", Config{InMemory: &InMemoryConfig{}}, bounds{100_000_000, 0, usual, 0}},
		{"the least", Config{InMemory: &InMemoryConfig{Size: 1}}, bounds{1, 0, usual, 0}},
		{"by its cost", Config{CostAware: &CostAwareConfig{}}, bounds{math.MaxInt64, 2 << 30, usual, 0}},
		{"by a cost", Config{CostAware: &CostAwareConfig{Bytes: 1}}, bounds{math.MaxInt64, 1, usual, 0}},
		{"shared", Config{Redis: &RedisConfig{Address: "127.0.0.1:1"}}, bounds{100_000_000, 0, usual, 0}},
		{"weights", Config{Weights: &Weights{3, 2, 0}, SpeculativeTTL: time.Second},
			bounds{100_000_000, 0, Weights{3, 2, 0}, time.Second}},
		{"weights by its cost", Config{CostAware: &CostAwareConfig{}, Weights: &Weights{CPU: 1}, SpeculativeTTL: 1},
			bounds{math.MaxInt64, 2 << 30, Weights{CPU: 1}, 1}},
		{"weights, shared", Config{Redis: &RedisConfig{Address: "valkey://127.0.0.1:1"}, Weights: &Weights{Disk: 1},
			SpeculativeTTL: 2}, bounds{100_000_000, 0, Weights{Disk: 1}, 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var m *memory
			switch index := newIndexer(t, test.config).Index.(type) {
			case *memory:
				m = index
			case *remote:
				m = index.memory
			}
			if got := (bounds{m.size, m.bytes, m.weights, m.ttl}); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestBlockTokens: blocks have the configuration's size until an endpoint has told its own, and again once it is gone.
func TestBlockTokens(t *testing.T) {
	for _, test := range []struct {
		name                            string
		configured, before, told, after int
	}{
		{"by default", 0, 16, 64, 16},
		{"configured", 32, 32, 64, 32},
	} {
		x := newIndexer(t, Config{BlockTokens: test.configured})
		before := x.BlockTokens("a")
		x.SetBlockTokens("a", 64)
		told, other := x.BlockTokens("a"), x.BlockTokens("b")
		if err := x.Drop(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if after := x.BlockTokens("a"); before != test.before || told != test.told || after != test.after ||
			other != test.before {
			t.Errorf("%s: got %d, then %d, and %d of another one, then %d, want %d, %d, %d, %d", test.name, before,
				told, other, after, test.before, test.told, test.before, test.after)
		}
	}
}

// TestNewMistakes: a mistake names its key and what would be right.
func TestNewMistakes(t *testing.T) {
	const at = "kvBlockIndexConfig"
	for _, test := range []struct {
		name   string
		config Config
		want   string
	}{
		{"two backends", Config{InMemory: &InMemoryConfig{}, Redis: &RedisConfig{}},
			at + ": has several backends; exactly one is right"},
		{"two in memory", Config{InMemory: &InMemoryConfig{}, CostAware: &CostAwareConfig{}},
			at + ": has several backends; exactly one is right"},
		{"a size", Config{InMemory: &InMemoryConfig{Size: -1}},
			at + ".inMemoryConfig.size: -1 is no number of keys; 1 or more is right"},
		{"a cost", Config{CostAware: &CostAwareConfig{Bytes: -1}},
			at + ".costAwareMemoryConfig.size: -1 is no number of bytes; one such as 2GiB is right"},
		{"an address", Config{Redis: &RedisConfig{Address: "http://x"}},
			at + ".redisConfig.address: is not a URL such as redis://host:6379/0"},
	} {
		if _, err := New(test.config); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
}
