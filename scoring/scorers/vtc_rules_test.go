package scorers

import (
	"math"
	"slices"
	"testing"
)

func vtc(source bool) *vtcBasic {
	return &vtcBasic{source: source, vtcBasicParameters: vtcBasicParameters{MinTokens: 1000, MaxTokens: 8000,
		MaxPodLoad: 100, FairnessWeight: 1, UtilizationWeight: 1}}
}

func (s *vtcBasic) costs(tokens, least, most float64, loads ...float64) []float64 {
	p := s.place(1, tokens, least, most, len(loads))
	costs := make([]float64, len(loads))
	for i, load := range loads {
		costs[i] = s.cost(p, i, load)
	}
	return costs
}

// The costs are AIBrix's without its noise.
func TestVTCCostsOfSource(t *testing.T) {
	tests := []struct {
		name                string
		tokens, least, most float64
		loads, want         []float64
	}{
		{"one user", 2250, 2250, 2250, []float64{80, 40, 10}, []float64{1.8, 0.4, 1.1}},
		{"in the middle", 4500, 1000, 8000, []float64{80, 40, 10}, []float64{1.8, 0.4, 1.1}},
		{"new user", 0, 1000, 8000, []float64{0, 0, 0}, []float64{0, 1, 2}},
		{"below the least bucket", 10, 10, 10, []float64{0, 0, 0}, []float64{0.01, 0.99, 1.99}},
		{"the most", 9000, 500, 9000, []float64{0, 0, 0}, []float64{1.894737, 0.894737, 0.105263}},
		{"beyond the end", 20000, 500, 1500, []float64{0, 0, 0}, []float64{2, 1, 0}},
		{"full loads are equal", 0, 1000, 8000, []float64{100, 1000, 0}, []float64{1, 2, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := vtc(true).costs(tt.tokens, tt.least, tt.most, tt.loads...)
			for i := range got {
				if !(math.Abs(got[i]-tt.want[i]) <= 1e-6) {
					t.Fatalf("costs %v, want %v", got, tt.want)
				}
			}
		})
	}
}

func cheapest(costs []float64) int { return slices.Index(costs, slices.Min(costs)) }

// In either semantics the endpoint does not come earlier for a user who took more. The cases are AIBrix's.
func TestVTCGrowsWithTokens(t *testing.T) {
	for _, source := range []bool{false, true} {
		for _, tt := range []struct {
			tokens []float64
			loads  []float64
		}{
			{[]float64{10, 50, 90}, []float64{0, 0, 0}},
			{[]float64{1, 10, 100, 1000}, []float64{0, 0}},
			{[]float64{500, 1500, 4000, 9000, 20_000}, make([]float64, 10)},
		} {
			before := 0
			for _, tokens := range tt.tokens {
				at := cheapest(vtc(source).costs(tokens, tt.tokens[0], tt.tokens[len(tt.tokens)-1], tt.loads...))
				if at < before {
					t.Errorf("source %v: %v tokens of %v go to endpoint %d, less to %d", source, tokens, tt.tokens, at,
						before)
				}
				before = at
			}
		}
	}
}

// AIBrix's own test of weights: the middle one of three.
func TestVTCWeightsOfSource(t *testing.T) {
	s := vtc(true)
	s.FairnessWeight, s.UtilizationWeight = 0.5, 0.5
	if got := cheapest(s.costs(4500, 1000, 8000, 80, 40, 10)); got != 1 {
		t.Errorf("endpoint %d, want 1", got)
	}
	if got := cheapest(vtc(true).costs(10_000, 10_000, 10_000, 0, 0, 0)); got != 1 {
		t.Errorf("a user alone goes to endpoint %d, want 1", got)
	}
}

// As documented, who is alone, or like all others, goes where the load is least; and a pool of any size is used to its
// end.
func TestVTCDocumented(t *testing.T) {
	loads := []float64{30, 20, 10, 20, 30, 40, 50, 60}
	tests := []struct {
		name                string
		tokens, least, most float64
		loads               []float64
		want                int
	}{
		{"alone", 50_000, 50_000, 50_000, loads, 2},
		{"alone and new", 0, 0, 0, loads, 2},
		{"all alike", 9000, 9000, 9000, loads, 2},
		{"all took little", 100, 1, 100, loads, 2},
		{"heavy", 100_000, 100, 100_000, make([]float64, 8), 7},
		{"light", 100, 100, 100_000, make([]float64, 8), 0},
		{"new beside others", 0, 100, 100_000, make([]float64, 8), 0},
		{"heavy spills over when its endpoint is full", 100_000, 100, 100_000, []float64{0, 0, 0, 0, 0, 0, 0, 90}, 6},
		{"one endpoint", 100_000, 100, 100_000, []float64{90}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			costs := vtc(false).costs(tt.tokens, tt.least, tt.most, tt.loads...)
			if got := cheapest(costs); got != tt.want {
				t.Errorf("costs %v: endpoint %d, want %d", costs, got, tt.want)
			}
		})
	}
}

// Without weights and without a least bucket nothing is divided by zero.
func TestVTCWithoutWeights(t *testing.T) {
	s := &vtcBasic{vtcBasicParameters: vtcBasicParameters{MaxPodLoad: 100}}
	for _, source := range []bool{false, true} {
		s.source = source
		for _, cost := range s.costs(0, 0, 0, 1, 2, 3) {
			if cost != 0 {
				t.Errorf("source %v: cost %v, want 0", source, cost)
			}
		}
	}
}
