package kvindex

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// model is the index in the plainest form.
type model struct {
	weights Weights
	blocks  map[Publisher]map[uint64]*modelBlock
}

type modelBlock struct {
	key    Key
	counts [Tiers]int
}

func (m *model) of(p Publisher) map[uint64]*modelBlock {
	if m.blocks[p] == nil {
		m.blocks[p] = map[uint64]*modelBlock{}
	}
	return m.blocks[p]
}

func (m *model) add(p Publisher, t Tier, hashes []uint64, keys []Key) {
	for i, hash := range hashes {
		b := m.of(p)[hash]
		if b == nil || b.key != keys[i] {
			b = &modelBlock{key: keys[i]}
			m.of(p)[hash] = b
		}
		b.counts[t]++
	}
}

func (m *model) evict(p Publisher, t Tier, hashes []uint64) (unknown int) {
	for _, hash := range hashes {
		b := m.of(p)[hash]
		if b == nil || b.counts[t] == 0 {
			unknown++
			continue
		}
		if b.counts[t]--; b.counts == [Tiers]int{} {
			delete(m.of(p), hash)
		}
	}
	return unknown
}

func (m *model) lookup(keys []Key, endpoints []string) []Hit {
	var hits []Hit
	for _, name := range endpoints {
		best := Hit{}
		for p := range m.blocks {
			if p.Endpoint != name {
				continue
			}
			hit := m.run(p, keys)
			if hit.Score > best.Score || hit.Score == best.Score && hit.Rank < best.Rank {
				best = hit
			}
		}
		if best.Blocks > 0 {
			hits = append(hits, best)
		}
	}
	return hits
}

func (m *model) run(p Publisher, keys []Key) Hit {
	hit := Hit{Endpoint: p.Endpoint, Rank: p.Rank}
	for _, key := range keys {
		best := -1
		for _, b := range m.of(p) {
			for t, n := range b.counts {
				if b.key == key && n > 0 && (best < 0 || m.weights[t] > m.weights[best]) {
					best = t
				}
			}
		}
		if best < 0 {
			break
		}
		hit.Blocks++
		hit.ByTier[best]++
		hit.Score += m.weights[best]
	}
	return hit
}

func sorted(hits []Hit) []Hit {
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Compare(a.Endpoint, b.Endpoint) })
	return hits
}

// TestAgainstModel plays random events on each index and on a model, and holds their lookups against each other. Few
// keys, so that all is shared, and hashes that change their key.
func TestAgainstModel(t *testing.T) {
	for name, open := range backends() {
		t.Run(name, func(t *testing.T) { againstModel(t, open(t)) })
	}
}

func backends() map[string]func(t *testing.T) Index {
	return map[string]func(t *testing.T) Index{
		"in memory": func(*testing.T) Index { return newMemory(DefaultWeights, DefaultSize, time.Second) },
		"cost-aware": func(t *testing.T) Index {
			return newIndexer(t, Config{CostAware: &CostAwareConfig{Bytes: 1 << 20}}).Index
		},
		"redis, away": func(t *testing.T) Index {
			return newIndexer(t, Config{Redis: &RedisConfig{Address: "redis://127.0.0.1:1"}}).Index
		},
	}
}

func againstModel(t *testing.T, index Index) {
	ctx := context.Background()
	random := rand.New(rand.NewPCG(3, 4))
	want := &model{DefaultWeights, map[Publisher]map[uint64]*modelBlock{}}
	names := []string{"a", "b", "c", "d", "none"}
	for step := range 6000 {
		p := Publisher{names[random.IntN(4)], random.IntN(2)}
		tier := Tier(random.IntN(Tiers))
		hashes, keys := make([]uint64, 1+random.IntN(4)), make([]Key, 4)
		for i := range hashes {
			hashes[i] = random.Uint64N(40)
			keys[i] = Key(hashes[i] % 20)
			if random.IntN(20) == 0 {
				keys[i] = Key(random.Uint64N(20))
			}
		}
		var err error
		switch action := random.IntN(100); {
		case action < 50:
			want.add(p, tier, hashes, keys)
			err = index.Add(ctx, p, tier, hashes, keys)
		case action < 98:
			unknown := 0
			unknown, err = index.Evict(ctx, p, tier, hashes)
			if w := want.evict(p, tier, hashes); w != unknown {
				t.Fatalf("step %d: got %d unknown, want %d", step, unknown, w)
			}
		case action < 99:
			delete(want.blocks, p)
			err = index.Clear(ctx, p)
		default:
			delete(want.blocks, Publisher{p.Endpoint, 0})
			delete(want.blocks, Publisher{p.Endpoint, 1})
			err = index.Drop(ctx, p.Endpoint)
		}
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		first := Key(random.IntN(17))
		asked := []Key{first, first + 1, first + 2, first + 3}
		got, err := index.Lookup(ctx, nil, asked, names)
		if w := want.lookup(asked, names); err != nil || fmt.Sprint(sorted(got)) != fmt.Sprint(w) {
			t.Fatalf("step %d: %v: got %v, %v, want %v", step, asked, got, err, w)
		}
		if key, err := index.Key(ctx, p, hashes[0]); (err == nil) != (want.of(p)[hashes[0]] != nil) ||
			err == nil && key != want.of(p)[hashes[0]].key {
			t.Fatalf("step %d: key of %d: got %v, %v", step, hashes[0], key, err)
		}
	}
	for _, name := range names {
		if err := index.Drop(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	if s := index.Stats(); s.Keys != 0 || s.Entries != 0 {
		t.Errorf("got %+v when all are gone, want nothing", s)
	}
}
