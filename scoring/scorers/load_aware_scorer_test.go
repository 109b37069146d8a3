package scorers_test

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestLoadAware: the scores of endpoints where so many requests wait, and of one that was never sampled.
func TestLoadAware(t *testing.T) {
	const heimdall, llmd, kind = ``, `"apiVersion": "llm-d.ai/v1", `, "load-aware-scorer"
	for _, tc := range []struct {
		name, dialect, parameters string
		waiting                   []int
		want                      []float64
		mistake, warning          string
	}{
		{"by default", heimdall, ``, []int{0, 32, 127, 128, 500}, []float64{0.5, 0.375, 0.5 / 128, 0, 0}, "", ""},
		{"whatever the others have", heimdall, ``, []int{64}, []float64{0.25}, "", ""},
		{"another threshold", heimdall, `"threshold": 4`, []int{0, 1, 4}, []float64{0.5, 0.375, 0}, "", ""},
		{"none", heimdall, `"threshold": 0`, nil, nil,
			"threshold: 0 is not a whole number from 1 to 2147483647", ""},
		{"none in llm-d's dialect", llmd, `"threshold": 0`, []int{64}, []float64{0.25}, "", "threshold: 0 counts as 128"},
		{"below none in llm-d's dialect", llmd, `"threshold": -1`, []int{64}, []float64{0.25}, "",
			"threshold: -1 counts as 128"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := `{` + tc.dialect + `"plugins": [{"type": "` + kind + `", "parameters": {` + tc.parameters + `}}]}`
			if tc.mistake != "" {
				tc.mistake = at(kind, tc.mistake)
			}
			if tc.warning != "" {
				tc.warning = kind + ": " + tc.warning
			}
			plantest.CheckTold(t, config, tc.mistake, tc.warning)
			if tc.mistake != "" {
				return
			}
			pool := []scoring.Endpoint{{}}
			for _, n := range tc.waiting {
				pool = append(pool, plantest.Sampled(scoring.Metrics{WaitingRequests: n, RunningRequests: 999}))
			}
			got := newRouter(t, config, pool...).scores(kind)
			if want := append([]float64{0.25}, tc.want...); !slices.Equal(got, want) {
				t.Errorf("scores %v, want %v", got, want)
			}
		})
	}
}
