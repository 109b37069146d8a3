package openai

import (
	"math"
	"testing"
)

// TestAnthropicUsage: what was read from the cache and what was written to it count to the prompt, once.
func TestAnthropicUsage(t *testing.T) {
	start := func(usage string) string {
		return "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":" + usage + "}}\n\n"
	}
	delta := func(usage string) string {
		return "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{},\"usage\":" + usage + "}\n\n"
	}
	for _, c := range []struct {
		name, body string
		want       Usage
		cached     bool
	}{
		{"read", `{"usage":{"input_tokens":50,"cache_read_input_tokens":950,"output_tokens":5}}`,
			Usage{1000, 5, 1005, 950}, true},
		{"read before the rest", `{"usage":{"cache_read_input_tokens":950,"output_tokens":5,"input_tokens":50}}`,
			Usage{1000, 5, 1005, 950}, true},
		{"written", `{"usage":{"input_tokens":50,"cache_creation_input_tokens":900,"output_tokens":5}}`,
			Usage{950, 5, 955, 0}, false},
		{"both, all of it", `{"usage":{"input_tokens":0,"cache_creation_input_tokens":4,"cache_read_input_tokens":6}}`,
			Usage{10, 0, 10, 6}, true},
		{"nothing cached", `{"usage":{"input_tokens":50,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}`,
			Usage{50, 0, 50, 0}, true},
		{"null", `{"usage":{"input_tokens":50,"cache_creation_input_tokens":null,"cache_read_input_tokens":null}}`,
			Usage{50, 0, 50, 0}, false},
		{"not said", `{"usage":{"input_tokens":1000,"output_tokens":5}}`, Usage{1000, 5, 1005, 0}, false},
		{"a gateway's chat", `{"usage":{"prompt_tokens":1000,"input_tokens":0,"completion_tokens":5,` +
			`"prompt_tokens_details":{"cached_tokens":950},"cache_read_input_tokens":950}}`,
			Usage{1000, 5, 1005, 950}, true},
		{"too large", `{"usage":{"input_tokens":2147483647,"cache_read_input_tokens":2147483647}}`,
			Usage{math.MaxInt32, 0, math.MaxInt32, math.MaxInt32}, true},
		{"a stream that says it twice", start(`{"input_tokens":50,"cache_read_input_tokens":950,"output_tokens":0}`) +
			delta(`{"input_tokens":50,"cache_read_input_tokens":950,"output_tokens":5}`),
			Usage{1000, 5, 1005, 950}, true},
		{"a stream that knows at its end", start(`{"input_tokens":1000,"output_tokens":0}`) +
			delta(`{"input_tokens":50,"cache_read_input_tokens":950,"output_tokens":5}`),
			Usage{1000, 5, 1005, 950}, true},
		{"a stream that knows at its beginning", start(`{"input_tokens":50,"cache_read_input_tokens":950}`) +
			delta(`{"output_tokens":5}`), Usage{1000, 5, 1005, 950}, true},
		{"a stream that repeats a part", start(`{"input_tokens":50,"cache_read_input_tokens":950}`) +
			delta(`{"cache_read_input_tokens":950,"cache_creation_input_tokens":0,"output_tokens":5}`),
			Usage{1000, 5, 1005, 950}, true},
		{"a stream whose end has nothing of the cache",
			start(`{"input_tokens":50,"cache_read_input_tokens":950,"cache_creation_input_tokens":7}`) +
				delta(`{"input_tokens":60,"output_tokens":5}`), Usage{60, 5, 65, 950}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r ResponseScanner
			for i := range len(c.body) {
				r.Feed([]byte(c.body[i : i+1]))
			}
			if got, found := r.Usage(); got != c.want || !found || r.CachedReported() != c.cached {
				t.Errorf("%s\n got %+v, %v, cached reported %v\nwant %+v, true, %v", c.body, got, found,
					r.CachedReported(), c.want, c.cached)
			}
		})
	}
}
