package scoring_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
)

// TestKeepsBilling: one endpoint whose engine keeps the billing header in its prompts has all of the pool's be read so,
// as long as it is there.
func TestKeepsBilling(t *testing.T) {
	var pool scoring.Pool
	for _, test := range []struct {
		name    string
		engines []string
		want    bool
	}{
		{"none", nil, false},
		{"unknown engines", []string{"", "vllm"}, false},
		{"the last of several", []string{"vllm", "trtllm", "sglang"}, true},
		{"alone", []string{"sglang"}, true},
		{"gone", []string{"vllm"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool.Endpoints = nil
			for _, engine := range test.engines {
				pool.Endpoints = append(pool.Endpoints, scoring.Endpoint{Engine: engine})
			}
			pool.Enter()
			if got := pool.KeepsBilling(); got != test.want {
				t.Errorf("engines %q: got %v, want %v", test.engines, got, test.want)
			}
		})
	}
}
