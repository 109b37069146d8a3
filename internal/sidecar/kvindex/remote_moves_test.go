package kvindex

import (
	"fmt"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestMoves: a publisher that leaves a sidecar for another one, and comes back, is known to all by the one that hears
// it, though the one that heard it before still lives.
func TestMoves(t *testing.T) {
	v := harness.StartValkey(t, "--appendonly", "no")
	ctx := t.Context()
	one, two, third := newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}}),
		newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}}),
		newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}})
	p := Publisher{"a", 0}
	keys, hashes := make([]Key, 20), make([]uint64, 20)
	for i := range keys {
		keys[i], hashes[i] = Key(i+1)<<40, uint64(i+1)
	}
	for _, step := range []struct {
		name        string
		hears, lost *Indexer
		blocks      int
	}{
		{"heard for the first time", one, nil, 10},
		{"gone to another one", two, one, 20},
		{"back", one, two, 5},
	} {
		if step.lost != nil {
			_ = step.lost.Clear(ctx, p)
		}
		_ = step.hears.Add(ctx, p, GPU, hashes[:step.blocks], keys[:step.blocks])
		for j, x := range []*Indexer{one, two, third} {
			eventually(t, fmt.Sprintf("sidecar %d to know %d blocks of the publisher, %s", j, step.blocks, step.name),
				func() bool {
					hits, err := x.Lookup(ctx, nil, keys, []string{"a"})
					return err == nil && len(hits) == 1 && hits[0].Blocks == step.blocks
				})
		}
	}
}

// TestBelieves: of a publisher the last one that began to hear it is believed, if it lives, and nobody's own copy.
func TestBelieves(t *testing.T) {
	o := &others{live: map[string]bool{"own": true, "i": true, "j": true},
		heard: map[string]string{"0|a": "i", "0|b": "gone", "0|c": "own"}, own: "own"}
	for _, tc := range []struct {
		name, instance, field string
		want                  bool
	}{
		{"the last one", "i", "0|a", true},
		{"one before", "j", "0|a", false},
		{"its own beside it", "own", "0|a", false},
		{"one that lives beside a last one that does not", "i", "0|b", true},
		{"one that is gone", "gone", "0|b", false},
		{"its own, where nobody lives that is said to hear it", "own", "0|b", false},
		{"its own, where it was the last", "own", "0|c", false},
		{"another one, where it was", "i", "0|c", false},
		{"one where nobody was said to", "j", "0|d", true},
	} {
		if got := o.believes(tc.instance, tc.field); got != tc.want {
			t.Errorf("%s: believed: got %v, want %v", tc.name, got, tc.want)
		}
	}
}
