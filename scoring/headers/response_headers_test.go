package headers_test

import (
	"maps"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// answer keeps the headers of a response.
type answer map[string]string

func (a answer) SetHeader(name string, value []byte) { a[name] = string(value) }

// TestResponseHeaders: what each plug-in tells the client of who served its request. One answer says nothing of the one
// before.
func TestResponseHeaders(t *testing.T) {
	const decoder, prefiller = "x-decoder-host-port", "x-prefiller-host-port"
	const served = "x-conformance-test-served-endpoint"
	pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
	first, second := &pool.Endpoints[0], &pool.Endpoints[1]
	second.Address = "[::1]:80"
	for _, tc := range []struct {
		name, kind string
		outcome    scoring.Outcome
		want       answer
	}{
		{"one stage", "response-header-handler", scoring.Outcome{Served: first}, answer{decoder: "10.0.0.1:1000"}},
		{"two stages", "response-header-handler", scoring.Outcome{Served: first, Prefill: second},
			answer{decoder: "10.0.0.1:1000", prefiller: "[::1]:80"}},
		{"another one served", "response-header-handler", scoring.Outcome{Served: second, Prefill: first},
			answer{decoder: "[::1]:80", prefiller: "10.0.0.1:1000"}},
		{"conformance", "destination-endpoint-served-verifier", scoring.Outcome{Served: second, Prefill: first},
			answer{served: "[::1]:80"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "`+tc.kind+`"}, {"type": "queue-scorer"}]}`, plantest.Neutral)
			plan.Respond(&scoring.Outcome{Served: first, Prefill: first}, answer{})
			got := answer{}
			if plan.Respond(&tc.outcome, got); !plan.HasResponseHooks() || !maps.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
