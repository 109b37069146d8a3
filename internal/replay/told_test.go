package replay

import (
	"fmt"
	"math"
	"testing"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
)

// TestToldOfRequests: what becomes of a request is told with what its decision said of it, as the filter tells it.
func TestToldOfRequests(t *testing.T) {
	prompt := Prompt{Bytes: 40, UnitBytes: 64}
	requests := []Request{
		{Model: "m", Input: 10, Output: 3, User: 7, Stream: true, Prompt: prompt},
		{At: 1, Model: "n", Input: 10, Output: 3, Prompt: prompt},
	}
	told := map[journal.Kind]int{}
	run(t, random, requests, Options{Servers: DefaultServers(), Events: func(e *journal.Event) {
		told[e.Kind]++
		of, bytes := &requests[e.Lease-1], uint32(prompt.Bytes)
		if e.Kind == journal.Began {
			bytes = 0 // nothing is reported yet
		}
		if e.Model != journal.HashName(of.Model) || e.User != of.User || e.Streamed != of.Stream ||
			e.PromptBytes != bytes {
			t.Errorf("request %d, kind %d: got model %x, user %d, a stream %v, %d bytes; want %x, %d, %v, %d", e.Lease,
				e.Kind, e.Model, e.User, e.Streamed, e.PromptBytes, journal.HashName(of.Model), of.User, of.Stream,
				bytes)
		}
	}})
	if told[journal.Decision] != 2 || told[journal.Began] != 2 || told[journal.Completion] != 2 {
		t.Errorf("got %v events by kind, want two decisions, beginnings and ends", told)
	}
}

// TestLimitOfTokens: the limit of tokens that a request of a trace has is what its answer has.
func TestLimitOfTokens(t *testing.T) {
	const config = `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": [
		{"type": "inflight-load-producer", "parameters": {"addEstimatedOutputTokens": true}},
		{"type": "token-load-scorer"}]}`
	requests := []Request{{Model: "m", Input: 100, Output: 7, Stream: true, Prompt: uniquePrompt(1, 100)}}
	run(t, config, requests, Options{Servers: DefaultServers(), Events: func(e *journal.Event) {
		if e.Kind == journal.Decision && e.PrimaryLoad != 107 {
			t.Errorf("the server is believed to have %d tokens to do, want 107", e.PrimaryLoad)
		}
	}})
}

// TestToldAsRecorded: of a recording's requests servers tell as much in a replay as they told then.
func TestToldAsRecorded(t *testing.T) {
	const input, output = 100, 7
	for _, test := range []struct {
		name           string
		recorded       *Recorded
		stream         bool
		usage, cached  bool
		inputs, output uint32
	}{
		{"no recording", nil, true, true, true, input, output},
		{"all", &Recorded{UsageKnown: true, CachedKnown: true}, true, true, true, input, output},
		{"nothing of caches", &Recorded{UsageKnown: true}, true, true, false, input, output},
		{"nothing, of a stream", &Recorded{}, true, false, false, 0, output},
		{"nothing, of a whole answer", &Recorded{}, false, false, false, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			requests := []Request{{Model: "m", Input: input, Output: output, Stream: test.stream,
				Prompt: uniquePrompt(1, input), Recorded: test.recorded}}
			run(t, random, requests, Options{Servers: DefaultServers(), Events: func(e *journal.Event) {
				if e.Kind == journal.Completion && (e.UsageReported != test.usage || e.CachedReported != test.cached ||
					e.InputTokens != test.inputs || e.OutputTokens != test.output ||
					(e.PromptBytes > 0) != test.usage) {
					t.Errorf("got usage %v, cached %v, %d tokens in of %d bytes and %d out, want %v, %v, %d and %d",
						e.UsageReported, e.CachedReported, e.InputTokens, e.PromptBytes, e.OutputTokens, test.usage,
						test.cached, test.inputs, test.output)
				}
			}})
		})
	}
}

// TestLengthsAreLearnt: how many tokens a model makes of a text is learnt from what servers report, so that what is
// believed to be cached is what is.
func TestLengthsAreLearnt(t *testing.T) {
	const tokens, times = 1024, 5
	for _, perToken := range []int{2, 4, 8} {
		t.Run(fmt.Sprintf("%d bytes a token", perToken), func(t *testing.T) {
			prompt := uniquePrompt(1, tokens*perToken/bytesPerToken)
			var requests []Request
			for i := range times {
				requests = append(requests, Request{At: 10 * float64(i), Model: "m", Input: tokens, Output: 10,
					Prompt: prompt})
			}
			servers := DefaultServers()
			servers.Count = 1
			samples := run(t, `{}`, requests, Options{Servers: servers})
			last := &samples[times-1]
			if part := float64(last.Predicted) / float64(last.Cached); !(math.Abs(part-1) <= 0.05) {
				t.Errorf("%d tokens are believed to be cached, want some %d, which are", last.Predicted, last.Cached)
			}
		})
	}
}

// TestPromptsHaveTokens: plug-ins of either dialect know how long the prompts of a trace are.
func TestPromptsHaveTokens(t *testing.T) {
	const tokens = 1000
	requests := []Request{{Model: "m", Input: tokens, Output: 1, Stream: true, Prompt: uniquePrompt(1, tokens)}}
	for _, test := range []struct{ name, config string }{
		{"heimdall", `{"plugins": [{"type": "prefill-load-scorer"}]}`},
		{"llm-d", `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig",
			"plugins": [{"type": "token-load-scorer"}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, test.config, requests, Options{Servers: DefaultServers(), Events: func(e *journal.Event) {
				if e.Kind == journal.Decision && e.PrimaryLoad != tokens {
					t.Errorf("the server is believed to compute %d tokens, want %d", e.PrimaryLoad, tokens)
				}
			}})
		})
	}
}

// TestGatewaysKnowTheTime: what becomes of requests is known for as long as it is new, also at a gateway to which no
// further request comes meanwhile.
func TestGatewaysKnowTheTime(t *testing.T) {
	const config, requests = `{"plugins": [{"type": "least-latency"}]}`, 20
	for _, gateways := range []int{1, 2} {
		t.Run(fmt.Sprint(gateways, " gateways"), func(t *testing.T) {
			var plans []*scoring.Plan
			for range gateways {
				c, err := pluginconfig.Parse([]byte(config))
				if err != nil {
					t.Fatal(err)
				}
				plans = append(plans, c.Plan)
			}
			o := Options{Servers: DefaultServers(), Others: plans[1:]}
			o.Servers.Count = 1
			w := newWorld(plans[0], &o)
			samples := make([]Sample, requests)
			for i := range samples {
				w.send(&Request{Model: "m", Input: 10, Output: 1500, Stream: true}, &samples[i])
			}
			// They answer for more than 15 s, which is of interest for a minute.
			const later = 70
			w.advance(later)
			w.deliver(nanos(later))
			for i, g := range w.gateways {
				g.pool.State.Expire(nanos(later))
				if got := g.pool.State.Latency.TTFT.Count(0); got != requests {
					t.Errorf("gateway %d knows of %d answers of the last minute, want %d", i, got, requests)
				}
			}
			w.send(&Request{Model: "m", Input: 10, Output: 1}, &Sample{At: 2 * later})
			for i, g := range w.gateways {
				if got := g.pool.State.Latency.TTFT.Count(0); got != 0 {
					t.Errorf("gateway %d knows of %d answers when a request comes a minute later, want none", i, got)
				}
			}
		})
	}
}
