package e2e

import (
	"fmt"
	"testing"
)

// Heimdall's SchedulingProfiles decide as they stand: each model by its own.
func TestModelsWithProfiles(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		endpoints := f.pool("sim-1")
		for i := range endpoints {
			endpoints[i].KV = []float64{0.9, 0.8, 0.1, 0.7}[i]
		}
		f.Publish(t, endpoints...)
		for _, test := range []struct{ model, server string }{{"m-v1", "sim-1"}, {"m-v2", "sim-2"}} {
			body := fmt.Sprintf(`{"model":%q,"prompt":"hi"}`, test.model)
			if got, _ := f.sendTo(t, "resources", "/v1/completions", body, false); got.Server() != test.server {
				t.Errorf("%s: answer of %s, want %s", test.model, got.Server(), test.server)
			}
		}
	})
}

// With the handler pd the decode server is told of the prefill server; without decode servers a prefill server answers
// alone.
func TestPairs(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		for _, test := range []struct {
			name           string
			roles          []string
			server, header string
		}{
			{"both", []string{"decode", "decode", "prefill", "prefill"}, "sim-1", f.servers[3].Address},
			{"prefill alone", []string{"prefill", "prefill", "encode", "encode"}, "sim-1", ""},
			{"decode alone", []string{"decode", "decode", "encode", "encode"}, "sim-1", ""},
		} {
			endpoints := f.roles(test.roles...)
			for i := range endpoints {
				endpoints[i].Waiting = uint32(2 - 2*(i%2))
			}
			f.Publish(t, endpoints...)
			got, received := f.sendTo(t, "pairs", "/v1/completions", completion(400), false)
			if got.Server() != test.server {
				t.Errorf("%s: answer of %s, want %s", test.name, got.Server(), test.server)
			}
			want := 0
			if test.header != "" {
				want = 1
			}
			wantStage(t, test.name, received, "mif-prefill-endpoint", []string{test.header}, want)
		}
	})
}
