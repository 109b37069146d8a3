package multifactor

import (
	"math"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// read reads a policy that must be right.
func read(t testing.TB, text string) Policy {
	t.Helper()
	p, mistakes := parse(text)
	if mistakes != "" {
		t.Fatalf("%s: %s", text, mistakes)
	}
	return p
}

func parse(text string) (Policy, string) {
	o, document := strictjson.Parse([]byte(text), "policy")
	p := Read(o)
	o.Close()
	if err := document.Err(); err != nil {
		return p, err.Error()
	}
	return p, ""
}

func TestWeights(t *testing.T) {
	equal := [Factors]float64{0.25, 0.25, 0.25, 0.25}
	tests := []struct {
		name, text string
		want       [Factors]float64
	}{
		{"no block", `{}`, equal},
		{"no block, by the source", `{"semantics": "source"}`, equal},
		{"an empty block", `{"weights": {}}`, equal},
		{"an empty block, by the source", `{"weights": {}, "semantics": "source"}`, equal},
		{"add up to 10", `{"weights": {"quality": 4, "latency": 2, "cost": 2, "load": 2}}`,
			[Factors]float64{0.4, 0.2, 0.2, 0.2}},
		{"all zero", `{"weights": {"quality": 0, "latency": 0, "cost": 0, "load": 0}}`, equal},
		{"all negative", `{"weights": {"quality": -1, "latency": -2, "cost": -3, "load": -4}}`, equal},
		{"one negative", `{"weights": {"quality": -1, "latency": 1, "cost": 1, "load": 2}}`,
			[Factors]float64{0, 0.25, 0.25, 0.5}},
		{"only one", `{"weights": {"quality": 1, "latency": 0, "cost": 0, "load": 0}}`, [Factors]float64{1, 0, 0, 0}},
		{"left out is the default", `{"weights": {"quality": 0.75}}`, [Factors]float64{0.5, 0.5 / 3, 0.5 / 3, 0.5 / 3}},
		{"left out is 0 by the source", `{"weights": {"quality": 0.75}, "semantics": "source"}`,
			[Factors]float64{1, 0, 0, 0}},
		{"large", `{"weights": {"quality": 1e12, "latency": 1e12, "cost": 0, "load": 0}}`,
			[Factors]float64{0.5, 0.5, 0, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := read(t, tt.text).weights
			for f := range got {
				if !(math.Abs(got[f]-tt.want[f]) <= 1e-12) {
					t.Errorf("weights %v, want %v", got, tt.want)
					break
				}
			}
		})
	}
}

func TestPercentile(t *testing.T) {
	tests := []struct {
		name, text string
		want       float64 // 0 for a mistake
	}{
		{"default", `{}`, 0.95},
		{"least", `{"latency_percentile": 1}`, 0.01},
		{"most", `{"latency_percentile": 100}`, 1},
		{"zero", `{"latency_percentile": 0}`, 0},
		{"beyond", `{"latency_percentile": 101}`, 0},
		{"least by the source", `{"latency_percentile": 1, "semantics": "source"}`, 0.01},
		{"most by the source", `{"latency_percentile": 100, "semantics": "source"}`, 1},
		{"just beyond by the source", `{"latency_percentile": 101, "semantics": "source"}`, 0.95},
		{"zero by the source", `{"latency_percentile": 0, "semantics": "source"}`, 0.95},
		{"beyond by the source", `{"latency_percentile": 150, "semantics": "source"}`, 0.95},
		{"negative by the source", `{"latency_percentile": -5, "semantics": "source"}`, 0.95},
		{"median by the source", `{"latency_percentile": 50, "semantics": "source"}`, 0.5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, mistakes := parse(tt.text)
			if got := p.Quantile(); tt.want != 0 && (got != tt.want || mistakes != "") {
				t.Errorf("quantile %v, want %v; %s", got, tt.want, mistakes)
			}
			if tt.want == 0 && mistakes == "" {
				t.Errorf("quantile %v, want a mistake", p.Quantile())
			}
		})
	}
}

func TestWindow(t *testing.T) {
	for text, want := range map[string]time.Duration{`{}`: 0, `{"latency_window": "90s"}`: 90 * time.Second} {
		p := read(t, text)
		if got := p.Window(); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestUsesLatency(t *testing.T) {
	const unweighted = `{"weights": {"quality": 1, "latency": 0, "cost": 0, "load": 0}, "slo": `
	for text, want := range map[string]bool{
		`{}`: true, unweighted + `{}}`: false, unweighted + `{"max_tpot_ms": 1}}`: true,
		unweighted + `{"max_ttft_ms": 1}}`:                        true,
		unweighted + `{"max_cost_per_1m": 1, "max_inflight": 1}}`: false,
	} {
		p := read(t, text)
		if got := p.UsesLatency(); got != want {
			t.Errorf("%s: uses latency is %v, want %v", text, got, want)
		}
	}
}
