package scoring_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestCostOfLongPrompts: how long a prompt is does not decide what each endpoint costs. A filter that goes by a
// prompt's length takes, for 64 endpoints and a conversation of 5,000 messages, not much longer than for 2 of them.
func TestCostOfLongPrompts(t *testing.T) {
	if os.Getenv("PINTLE_BARS") == "" {
		t.Skip("PINTLE_BARS is not set")
	}
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": [
		{"type": "context-length-aware", "parameters": {"enableFiltering": true, "label": "context"}},
		{"type": "queue-scorer"}]}`, plantest.Neutral)
	const message = `{"role": "user", "content": "a prompt"},`
	body := []byte(`{"model": "m", "messages": [` + strings.Repeat(message, 4999) + strings.TrimSuffix(message, ",") + `]}`)
	quickest := func(n int) time.Duration {
		endpoints := make([]scoring.Endpoint, n)
		for i := range endpoints {
			endpoints[i] = plantest.Labelled("context", "0-1000000")
			endpoints[i].Name = fmt.Sprint(i)
		}
		c, least := plantest.Cycle(plantest.Pool(endpoints...), 1), time.Duration(1<<62)
		if failure := c.Request.Read(new(openai.Request), openai.APIChat, body); failure != nil {
			t.Fatal(failure.Message)
		}
		for range 200 {
			began := time.Now()
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure)
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	few, many := quickest(2), quickest(64)
	t.Logf("%v with 2 endpoints, %v with 64", few, many)
	if many > 3*few {
		t.Errorf("%v with 64 endpoints and %v with 2, want at most 3 times as much", many, few)
	}
}

// TestLengthOfEachRequest: what was counted of one request is not taken for the next one's length.
func TestLengthOfEachRequest(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": [
		{"type": "context-length-aware"}]}`, plantest.Neutral)
	c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1)
	for _, want := range []int{10, 1000, 0, 3} {
		c.Request = scoring.Request{Now: plantest.Now}
		body := []byte(`{"model": "m", "prompt": "` + strings.Repeat("word", want) + `"}`)
		if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
			t.Fatal(failure.Message)
		}
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure)
		}
		if got := c.PromptTokens(); got != want {
			t.Errorf("%d tokens, want %d", got, want)
		}
	}
}
