package main_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/journal"
)

// TestBillingHeader: Claude Code's billing header, which differs from request to request, is part of prompts only while
// an endpoint is of an engine that keeps it.
func TestBillingHeader(t *testing.T) {
	m := modes[2]
	g := newGateway(t, m, 1, m.configuration(
		`{"plugins":[{"type":"prefix-cache-scorer","parameters":{"autoTune":false}},{"type":"queue-scorer"}]}`, ""))
	ask := func(rest, hash string) {
		body := `{"system":"x-anthropic-billing-header: cch=` + hash + `;\n` + strings.Repeat(rest, 200) +
			`","model":"m","messages":[{"role":"user","content":"hi"}]}`
		s := g.workers[0].requests.Request(wazerohost.Headers{{":path", "/v1/messages"}}, false)
		s.Body([]byte(body), true)
		s.SetServer(address(0))
		s.Respond(wazerohost.Headers{{":status", "200"}}, true)
		s.Finish()
	}
	for _, test := range []struct {
		name, rest string // of the prompt, which only the test has
		engines    []string
		cached     bool
	}{
		{"kept by none", "one ", []string{"vllm", "trtllm"}, true},
		{"kept by one of two", "two ", []string{"vllm", "sglang"}, false},
		{"kept by none again", "three ", []string{"vllm", "vllm"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPool(0, 5)
			for i, engine := range test.engines {
				p.Topology.Endpoints[i].Engine = engine
			}
			g.publish(p)
			ask(test.rest, "a1b2c")
			ask(test.rest, "d3e4f")
			decisions := g.events(journal.Decision)
			first, second := decisions[len(decisions)-2], decisions[len(decisions)-1]
			if first.PredictedTokens != 0 || (second.PredictedTokens > 0) != test.cached {
				t.Errorf("believed to be cached: %d and %d tokens, want none of the first and some of the second: %v",
					first.PredictedTokens, second.PredictedTokens, test.cached)
			}
		})
	}
}
