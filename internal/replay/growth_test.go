package replay

import (
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// TestGrowingBlocks: a prompt that was recorded by blocks that grow is known as far as they reach, and equals others as
// far as theirs do.
func TestGrowingBlocks(t *testing.T) {
	chain := state.Chain{BlockBytes: 256, DoubleEvery: 2}
	asked := func(bytes int, blocks ...uint64) Prompt {
		return promptOf(&journal.Event{PromptBytes: uint32(bytes),
			Chains: []journal.Chain{{ID: chain.ID(), Blocks: blocks}}})
	}
	one, other := asked(2700, 1, 2, 3, 4, 5), asked(1600, 1, 2, 3, 9)
	if one.UnitBytes != 256 || len(one.Blocks) != 1+1+2+2+4 || one.Bytes != 2700 || len(other.Blocks) != 1+1+2+2 {
		t.Fatalf("got %+v and %+v", one, other)
	}
	for i := range other.Blocks {
		if same := one.Blocks[i] == other.Blocks[i]; same != (i < 4) {
			t.Errorf("unit %d: equal is %v, want %v", i, same, i < 4)
		}
	}
	for _, tt := range []struct {
		chain state.Chain
		want  int
	}{{chain, 5}, {state.Chain{BlockBytes: 256}, 10}, {state.Chain{BlockBytes: 512, DoubleEvery: 1}, 2}} {
		got := one.AppendChain(nil, "m", tt.chain, 100)
		if len(got) != tt.want {
			t.Errorf("%+v: got %d blocks, want %d", tt.chain, len(got), tt.want)
		}
		with := other.AppendChain(nil, "m", tt.chain, 100)
		for i := range with {
			if same := got[i] == with[i]; same != (tt.chain.End(i+1) <= 1024) {
				t.Errorf("%+v: block %d is equal: %v", tt.chain, i, same)
			}
		}
	}
}
