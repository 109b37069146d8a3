package e2e

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

const contextLabel = "mif.moreh.io/context-length-range"

// ranges is a pool whose servers have labels of context lengths in their order, "" for none.
func (f *fixture) ranges(ranges ...string) []harness.Endpoint {
	endpoints := f.pool()[:len(ranges)]
	for i, label := range ranges {
		if label != "" {
			endpoints[i].Labels = map[string]string{contextLabel: label}
		}
	}
	return endpoints
}

// tokens is a request whose prompt counts for so many tokens.
func tokens(n int) string { return completion(4 * n) }

// TestContextLength: the examples of the scorer's documentation, with its scores.
func TestContextLength(t *testing.T) {
	tests := []struct {
		name   string
		tokens int
		ranges []string
		scores []float64
		server string
	}{
		{"short", 500, []string{"0-2048", "2048-8192", ""}, []float64{0.81, 0, 0.2}, "sim-0"},
		{"too long for all", 50_000, []string{"0-8192", "0-32768"}, []float64{0.29, 0.41}, "sim-1"},
		{"at the border", 2048, []string{"0-2048", "2048-8192", ""}, []float64{0.58, 0.73, 0.2}, "sim-1"},
		{"above the small range", 2049, []string{"0-2048", "2048-32768"}, []float64{0.5, 0.5}, "sim-1"},
		{"far above the small range", 22_435, []string{"0-2048", "2048-32768"}, []float64{0.27, 0.5}, "sim-1"},
		{"at the end of the large range", 32_768, []string{"0-2048", "2048-32768"}, []float64{0.27, 0.5}, "sim-1"},
		{"unreadable label", 500, []string{"0..2048", ""}, []float64{0, 0.2}, "sim-1"},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		for _, test := range tests {
			f.Publish(t, f.ranges(test.ranges...)...)
			for i := range 6 {
				got, _ := f.sendTo(t, "context", "/v1/completions", tokens(test.tokens), i%2 == 1)
				wantServer(t, got, test.server)
				var scores []float64
				for _, line := range explained(t, got).Scores {
					score, _ := line[3].(float64)
					scores = append(scores, math.Round(score*100)/100)
				}
				if !slices.Equal(scores, test.scores) {
					t.Errorf("%s: got scores %v, want %v", test.name, scores, test.scores)
				}
			}
		}
	})
}

// TestContextLengthFilter: with enableFiltering a range that does not hold the length is no candidate.
func TestContextLengthFilter(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.Publish(t, f.ranges("0-2048", "2049-8192", "0-100, 4000-5000", "8193-100000")...)
		for n, server := range map[int]string{500: "sim-0", 2048: "sim-0", 2049: "sim-1", 4500: "sim-2",
			50_000: "sim-3"} {
			for _, http2 := range []bool{false, true} {
				got, _ := f.sendTo(t, "context-filter", "/v1/completions", tokens(n), http2)
				wantServer(t, got, server)
			}
		}
		f.Publish(t, f.ranges("0-8192", "0-32768")...)
		request := harness.Request(t, http.MethodPost, f.URL("context-filter", "/v1/completions"), tokens(50_000),
			false)
		wantError(t, harness.Send(t, harness.Client(t, false), request), http.StatusServiceUnavailable, "filtered_out")
		f.Publish(t, f.ranges("0-8192", "")...)
		got, _ := f.sendTo(t, "context-filter", "/v1/completions", tokens(50_000), false)
		wantServer(t, got, "sim-1")
	})
}

// TestWeightedRandom: requests spread as the totals are to each other, and none goes where the total is 0.
func TestWeightedRandom(t *testing.T) {
	const requests = 280
	shares := []struct {
		usage       float64
		least, most int // five standard deviations
	}{{0, 118, 202}, {0.5, 42, 118}, {0.75, 10, 70}, {1, 0, 0}}
	inCells(t, func(t *testing.T, f *fixture) {
		endpoints := f.pool()
		for i, share := range shares {
			endpoints[i].KV = share.usage
		}
		f.Publish(t, endpoints...)
		counts := f.spread(t, "weighted", requests)
		for i, share := range shares {
			if n := counts[f.servers[i].Name]; n < share.least || n > share.most {
				t.Errorf("%s with KV usage %v got %d of %d requests, want %d to %d", f.servers[i].Name, share.usage, n,
					requests, share.least, share.most)
			}
		}
	})
}

// spread counts the servers of many requests, on a few connections so that all workers decide.
func (f *fixture) spread(t *testing.T, listener string, requests int) map[string]int {
	t.Helper()
	counts := map[string]int{}
	clients := []*http.Client{harness.Client(t, false), harness.Client(t, true), harness.Client(t, false),
		harness.Client(t, true)}
	for i := range requests {
		status, server, err := ask(clients[i%len(clients)], f.URL(listener, chatPath))
		if err != nil || status != http.StatusOK {
			t.Fatalf("request %d: got %d, %v", i, status, err)
		}
		counts[server]++
	}
	return counts
}

// TestLabelSelector: only endpoints that meet every requirement are candidates.
func TestLabelSelector(t *testing.T) {
	gold := func(pairs ...string) map[string]string {
		labels := map[string]string{"tier": "gold", "zone": "a"}
		for i := 0; i < len(pairs); i += 2 {
			labels[pairs[i]] = pairs[i+1]
		}
		return labels
	}
	inCells(t, func(t *testing.T, f *fixture) {
		for i, labels := range []map[string]string{gold("tier", "silver"), gold("zone", "c"), gold("spot", ""),
			{"tier": "gold"}} {
			endpoints := f.pool()
			for j := range endpoints {
				endpoints[j].Labels = labels
			}
			endpoints[i].Labels = gold("zone", "b", "other", "x")
			f.Publish(t, endpoints...)
			if counts := f.spread(t, "selector", 8); counts[f.servers[i].Name] != 8 {
				t.Errorf("beside %v: got %v, want all at %s", labels, counts, f.servers[i].Name)
			}
		}
		endpoints := f.pool()
		endpoints[1].Labels, endpoints[2].Labels = gold(), gold("zone", "b")
		f.Publish(t, endpoints...)
		if counts := f.spread(t, "selector", 24); len(counts) != 2 || counts["sim-1"] == 0 || counts["sim-2"] == 0 {
			t.Errorf("got %v, want sim-1 and sim-2", counts)
		}
	})
}

// TestAdapterAffinity: a request goes where its adapter runs, else where there is room for it. A server that has never
// had an adapter has room.
func TestAdapterAffinity(t *testing.T) {
	const requests = 80 // for two models: all of one's have one of two servers once in 2^39
	inCells(t, func(t *testing.T, f *fixture) {
		endpoints := f.pool()
		for i, running := range [][]string{{"x"}, {"x", "y"}, {"x", "m-v1"}, {}} {
			endpoints[i].Running, endpoints[i].MaxLoRA = running, 2
		}
		endpoints[3].MaxLoRA = 0
		f.Publish(t, endpoints...)
		counts := map[string]int{}
		for i := range requests {
			model := []string{"m-v1", "m-v2"}[i/2%2]
			body := fmt.Sprintf(`{"model":%q,"prompt":"x","max_tokens":1}`, model)
			got, _ := f.sendTo(t, "adapters", "/v1/completions", body, i%2 == 1)
			if !strings.Contains(got.Body, model) {
				t.Errorf("got %s, want an answer of %s", got.Body, model)
			}
			counts[model+" at "+got.Server()]++
		}
		if counts["m-v1 at sim-2"] != requests/2 || counts["m-v2 at sim-0"] == 0 || counts["m-v2 at sim-3"] == 0 ||
			len(counts) != 3 {
			t.Errorf("got %v, want all m-v1 at sim-2, and m-v2 at sim-0 and sim-3", counts)
		}
	})
}
