package kvcache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// story is an engine that is told what to do, and what came of it.
type story struct {
	*both
	engine
	chain *chain
}

const storySize = 16

func newStory(t *testing.T, endpoints, blocks int, change func(c *chain)) *story {
	t.Helper()
	b := newBoth(t, settings{size: storySize, weights: kvindex.DefaultWeights, podCache: 10}, endpoints)
	c := &chain{asked: asked{model: baseModel, tokens: make([]uint32, blocks*storySize)}}
	if change != nil {
		change(c)
	}
	random := rand.New(rand.NewPCG(3, 15))
	for i := range c.tokens {
		c.tokens[i] = random.Uint32N(1 << 17)
	}
	for i := range blocks {
		c.hashes = append(c.hashes, 1<<40+uint64(i))
	}
	return &story{both: b, engine: engine{size: storySize, maps: true}, chain: c}
}

// told publishes what the engine has said.
func (s *story) told(endpoint int) {
	s.Helper()
	s.tell(endpoint, s.batch(s.T))
}

func (s *story) removed(block int) {
	s.say("BlockRemoved", "block_hashes", []uint64{s.chain.hashes[block]}, "medium", "GPU")
}

// want holds what either says of the prompt, by endpoint. A salt is not part of llm-d's question.
func (s *story) want(when string, ours, theirs map[string]float64) {
	s.Helper()
	if got := s.scores(&s.chain.asked); !maps.Equal(got, ours) {
		s.Errorf("%s: got %v, want %v", when, got, ours)
	}
	if got := s.theirScores(&s.chain.asked, false); !maps.Equal(got, theirs) {
		s.Errorf("%s: llm-d's index says %v, want %v", when, got, theirs)
	}
}

type scores = map[string]float64

// TestDifferences: where the two differ, it is on purpose, and as it says here.
func TestDifferences(t *testing.T) {
	const pod = "ns/pod-0"
	for _, tc := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"a copy that is removed leaves the other one", func(t *testing.T) {
			s := newStory(t, 1, 1, nil)
			s.stored(s.chain, 0, 1)
			s.stored(s.chain, 0, 1)
			s.removed(0)
			s.told(0)
			s.want("one of two is left", scores{pod: 1}, scores{})
			s.removed(0)
			s.told(0)
			s.want("none is left", scores{}, scores{})
		}},
		{"blocks wait for their parent", func(t *testing.T) {
			s := newStory(t, 1, 3, nil)
			s.stored(s.chain, 1, 3)
			s.told(0)
			s.stored(s.chain, 0, 1)
			s.told(0)
			s.want("the parent came later", scores{pod: 3}, scores{pod: 1})
		}},
		{"tenants with salts have blocks of their own, which are found", func(t *testing.T) {
			s := newStory(t, 1, 2, func(c *chain) { c.salt = "tenant" })
			s.stored(s.chain, 0, 2)
			s.told(0)
			s.want("asked with the salt", scores{pod: 2}, scores{})
			s.chain.salt = "another"
			s.want("asked with another", scores{}, scores{})
			s.chain.salt = ""
			s.want("asked without", scores{}, scores{})
		}},
		{"an adapter's name among the extra keys, where vLLM has it, is no other block", func(t *testing.T) {
			s := newStory(t, 1, 2, func(c *chain) { c.model, c.lora = "adapter", "adapter" })
			extra := []any{[]any{"adapter"}, []any{"adapter"}}
			s.say("BlockStored", "block_hashes", s.chain.hashes, "parent_block_hash", nil, "token_ids", s.chain.tokens,
				"block_size", storySize, "lora_id", 1, "medium", "GPU", "lora_name", "adapter", "extra_keys", extra)
			s.told(0)
			s.want("asked for the adapter", scores{pod: 2}, scores{})
		}},
		{"layers with a window are not the whole prompt", func(t *testing.T) {
			s := newStory(t, 1, 2, nil)
			s.stored(s.chain, 0, 1, "group_idx", 0, "kv_cache_spec_kind", "full_attention")
			s.stored(s.chain, 0, 2, "group_idx", 1, "kv_cache_spec_kind", "sliding_window")
			s.told(0)
			s.want("a block of all layers", scores{pod: 1}, scores{pod: 2})
		}},
		{"an unknown event costs itself alone", func(t *testing.T) {
			s := newStory(t, 1, 2, nil)
			s.say("BlockAdmired", "block_hashes", s.chain.hashes)
			s.stored(s.chain, 0, 2)
			s.told(0)
			s.want("what came with it", scores{pod: 2}, scores{})
		}},
		{"a block has as many holders as it has", func(t *testing.T) {
			const endpoints = 12 // and a podCacheSize of 10
			s := newStory(t, endpoints, 1, nil)
			ours, theirs := scores{}, scores{}
			for i := range endpoints {
				s.stored(s.chain, 0, 1)
				s.told(i)
				ours[fmt.Sprint("ns/pod-", i)] = 1
				if i >= endpoints-10 {
					theirs[fmt.Sprint("ns/pod-", i)] = 1
				}
			}
			s.want("all have it", ours, theirs)
		}},
		{"blocks are as large as the engine's", func(t *testing.T) {
			s := newStory(t, 1, 4, nil)
			whole := s.chain.asked
			s.say("BlockStored", "block_hashes", []uint64{1 << 41}, "parent_block_hash", nil, "token_ids",
				whole.tokens, "block_size", len(whole.tokens), "lora_id", nil, "medium", "GPU")
			s.publishTo(0, s.batch(t))
			s.wait("the block", func() bool { return len(s.hits(&whole)) > 0 })
			hits := s.hits(&whole)
			if len(hits) != 1 || hits[0].Tokens != len(whole.tokens) {
				t.Errorf("got %+v, want all tokens", hits)
			}
			if theirs := s.theirScores(&whole, false); theirs[pod] != 4 {
				t.Errorf("llm-d's index says %v, want four blocks of %d", theirs, storySize)
			}
			s.chain.tokens = whole.tokens[:2*storySize]
			s.want("a part of the engine's block is of no use to it", scores{}, scores{pod: 2})
		}},
		{"a cleared block is not to be found again where it was offloaded from", func(t *testing.T) {
			s := newStory(t, 1, 1, nil)
			s.stored(s.chain, 0, 1)
			s.say("AllBlocksCleared")
			s.say("BlockStored", "block_hashes", s.chain.hashes, "parent_block_hash", nil, "token_ids", []uint32{},
				"block_size", storySize, "lora_id", nil, "medium", "CPU")
			s.told(0)
			s.want("a copy of what is gone", scores{}, scores{pod: 0.8})
		}},
	} {
		t.Run(tc.name, tc.run)
	}
}
