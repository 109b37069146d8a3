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
	first, second := c.PromptChain(chain, 2), c.PromptChain(chain, 5)
	if first[0] != second[0] || first[1] != second[1] {
		t.Errorf("got %x and %x, want one chain", first, second)
	}
}
