package scoring

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/state"
)

// TestPromptChainGrows: who asks for more of a chain than another plug-in before gets more, and the other what it asked
// for.
func TestPromptChainGrows(t *testing.T) {
	body := []byte(`{"model":"m","prompt":"` + strings.Repeat("prompt ", 100) + `"}`)
	c := NewCycle(1)
	if failure := c.Request.Read(&openai.Request{}, openai.APICompletions, body); failure != nil {
		t.Fatal(failure)
	}
	chain := state.Chain{BlockBytes: 64}
	for _, most := range []int{2, 5, 2} {
		if got := len(c.PromptChain(chain, most)); got != most {
			t.Errorf("got %d blocks, want %d", got, most)
		}
	}
	if got := c.PromptSize(); got != 5 {
		t.Errorf("the prompt takes %d blocks, want 5", got)
	}
	first, second := c.PromptChain(chain, 2), c.PromptChain(chain, 5)
	if first[0] != second[0] || first[1] != second[1] {
		t.Errorf("got %x and %x, want one chain", first, second)
	}
}

// TestPromptSize: a block that is twice as long takes twice the room, and each way to cut a prompt takes its own.
func TestPromptSize(t *testing.T) {
	body := []byte(`{"model":"m","prompt":"` + strings.Repeat("prompt ", 100) + `"}`)
	c := NewCycle(1)
	if failure := c.Request.Read(&openai.Request{}, openai.APICompletions, body); failure != nil {
		t.Fatal(failure)
	}
	if got := c.PromptSize(); got != 0 {
		t.Errorf("a prompt that nobody cut takes %d blocks, want 0", got)
	}
	c.PromptChain(state.Chain{BlockBytes: 64, DoubleEvery: 2}, 5)
	if got, want := c.PromptSize(), 1+1+2+2+4; got != want {
		t.Errorf("the prompt takes %d blocks, want %d", got, want)
	}
	c.PromptChain(state.Chain{BlockBytes: 32}, 3)
	if got, want := c.PromptSize(), 1+1+2+2+4+3; got != want {
		t.Errorf("cut in two ways it takes %d blocks, want %d", got, want)
	}
}
