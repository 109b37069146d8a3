package engine

import (
	"fmt"
	"strings"
	"testing"
)

// TestEqual: a sample differs from one that has any of its fields otherwise, but for what it has done.
func TestEqual(t *testing.T) {
	empty := Sample{}
	for name, other := range map[string]Sample{
		"waiting": {WaitingRequests: 1}, "running": {RunningRequests: 1}, "KV usage": {KVCacheUsage: 0.1},
		"tokens of a block": {KVBlockTokens: 1}, "blocks": {KVBlocks: 1}, "adapters at once": {MaxLoRA: 1},
		"running at once": {MaxRunning: 1}, "start": {ProcessStart: 1},
		"attributes": {Attributes: [MaxAttributes]float64{1}}, "known attributes": {AttributesKnown: 1},
		"running adapters": {RunningLoRA: []string{"a"}}, "waiting adapters": {WaitingLoRA: []string{"a"}},
	} {
		if empty.Equal(&other) {
			t.Errorf("%s: got equal, want different", name)
		}
	}
	if !empty.Equal(&Sample{Done: 1}) {
		t.Error("done: got different, want equal")
	}
}

// TestRanks: of each data-parallel rank the first series counts. What is no rank, or too high, counts as the first.
func TestRanks(t *testing.T) {
	for _, test := range []struct {
		name  string
		ranks []string
		want  uint32
	}{
		{"one, of several shards", []string{"0", "0", "0"}, 1},
		{"none", []string{"", ""}, 1},
		{"one digit", []string{"0", "1", "9"}, 3},
		{"several digits", []string{"0", "1", "10", "19", "11", "100", "10"}, 6},
		{"ends of words", []string{"0", "63", "64", "127", "128", "191", "192", "255"}, 8},
		{"high ones, of several shards", []string{"63", "64", "127", "255", "64", "127", "255", "63"}, 4},
		{"too high", []string{"0", "256", "1000"}, 1},
		{"beyond an integer", []string{"0", "18446744073709551615", "9223372036854775808"}, 1},
		{"no number", []string{"0", "-1", "-", "1/", ":1", "x"}, 1},
	} {
		var page strings.Builder
		for i, rank := range test.ranks {
			fmt.Fprintf(&page, "sglang:num_running_reqs{dp_rank=%q,tp_rank=\"%d\"} 1\n", rank, i)
		}
		var s Sample
		if NewParser(sglang).Parse([]byte(page.String()), &s); s.RunningRequests != test.want {
			t.Errorf("%s: got %d running, want %d", test.name, s.RunningRequests, test.want)
		}
	}
}
