package multifactor

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var unknown = math.NaN()

// with makes candidates of one signal each.
func with(set func(*Signals, float64), values ...float64) []Candidate {
	var all []Candidate
	for _, v := range values {
		c := Candidate{Signals: Signals{Quality: unknown, TTFTMillis: unknown, TPOTMillis: unknown, Cost: unknown}}
		set(&c.Signals, v)
		all = append(all, c)
	}
	return all
}

func quality(s *Signals, v float64)  { s.Quality = v }
func ttft(s *Signals, v float64)     { s.TTFTMillis = v }
func tpot(s *Signals, v float64)     { s.TPOTMillis = v }
func cost(s *Signals, v float64)     { s.Cost = v }
func inFlight(s *Signals, v float64) { s.InFlight = int(v) }

const (
	byQuality = `"weights": {"quality": 1, "latency": 0, "cost": 0, "load": 0}`
	byLatency = `"weights": {"quality": 0, "latency": 1, "cost": 0, "load": 0}`
	byCost    = `"weights": {"quality": 0, "latency": 0, "cost": 1, "load": 0}`
	byLoad    = `"weights": {"quality": 0, "latency": 0, "cost": 0, "load": 1}`
	bySource  = `, "semantics": "source"`
)

// TestGolden has the cases that the semantic router tests itself by, and the formula at its edges.
func TestGolden(t *testing.T) {
	tests := []struct {
		name, policy string
		all          []Candidate
		scores       []float64
		best         int
	}{
		{"quality only", byQuality, with(quality, 0.5, 0.9, 0.3), []float64{1. / 3, 1, 0}, 1},
		{"cost only", byCost, with(cost, 30, 0.5, 5), []float64{0, 1, 25 / 29.5}, 1},
		{"load only", byLoad, with(inFlight, 100, 5, 50), []float64{0, 1, 50. / 95}, 1},
		{"latency only", byLatency, with(tpot, 500, 50, 200), []float64{0, 1, 300. / 450}, 1},
		{"latency by TTFT", byLatency, with(ttft, 500, 50, 200), []float64{0, 1, 300. / 450}, 1},
		{"none", byQuality, nil, nil, -1},
		{"one", byQuality, with(quality, 0.5), []float64{0.5}, 0},
		{"one of whom nothing is known", `"weights": {}`, with(quality, unknown), []float64{0.25 * (0 + 0.5 + 0 + 0.5)},
			0},
		{"equal qualities", byQuality, with(quality, 0.7, 0.7), []float64{0.5, 0.5}, 0},
		{"equal costs", byCost, with(cost, 3, 3, 3), []float64{0.5, 0.5, 0.5}, 0},
		{"missing quality is worst", byQuality, with(quality, unknown, 0.2, 0.4), []float64{0, 0, 1}, 2},
		{"missing quality, neutral", byQuality + `, "missing": {"quality": "neutral"}`,
			with(quality, unknown, 0.2, 0.4), []float64{0.5, 0, 1}, 2},
		{"missing cost is worst", byCost, with(cost, unknown, 9, 4), []float64{0, 0, 1}, 2},
		{"missing cost, neutral", byCost + `, "missing": {"cost": "neutral"}`, with(cost, unknown, 9, 4),
			[]float64{0.5, 0, 1}, 2},
		{"missing latency is neutral", byLatency, with(ttft, unknown, 9, 4), []float64{0.5, 0, 1}, 2},
		{"missing latency, worst", byLatency + `, "missing": {"latency": "worst"}`, with(ttft, unknown, 9, 4),
			[]float64{0, 0, 1}, 2},
		{"missing latency by the source", byLatency + bySource, with(ttft, unknown, 9, 4), []float64{0, 0, 1}, 2},
		{"missing latency by the source, neutral", byLatency + bySource + `, "missing": {"latency": "neutral"}`,
			with(ttft, unknown, 9, 4), []float64{0.5, 0, 1}, 2},
		{"one known is in the middle", byQuality, with(quality, unknown, 0.2, unknown), []float64{0, 0.5, 0}, 1},
		{"free is cheapest", byCost, with(cost, 0, 2, 4), []float64{1, 0.5, 0}, 0},
		{"free by the source", byCost + bySource, with(cost, 0, 2, 4), []float64{0, 1, 0}, 1},
		{"quality of 0", byQuality, with(quality, 0, 2, 4), []float64{0, 0.5, 1}, 2},
		{"quality of 0 by the source", byQuality + bySource, with(quality, 0, 2, 4), []float64{0, 0, 1}, 2},
		{"far apart", byCost, with(cost, 1e12, 0, 5e11), []float64{0, 1, 0.5}, 1},
		{"close together", byQuality, with(quality, 1, math.Nextafter(1, 2)), []float64{0, 1}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := read(t, "{"+tt.policy+"}")
			if left := p.Rate(tt.all); left != len(tt.all) {
				t.Errorf("%d left, want %d", left, len(tt.all))
			}
			for i, want := range tt.scores {
				if got := tt.all[i].Score; !(math.Abs(got-want) <= 1e-12) {
					t.Errorf("candidate %d: score %v, want %v", i, got, want)
				}
			}
			if got := Best(tt.all); got != tt.best {
				t.Errorf("best is %d, want %d", got, tt.best)
			}
		})
	}
}

// TestGoldenTie has two candidates that are each best in two of four: the first listed wins.
func TestGoldenTie(t *testing.T) {
	a := Signals{Quality: 0.8, TPOTMillis: 50, TTFTMillis: unknown, Cost: 10, InFlight: 5}
	b := Signals{Quality: 0.6, TPOTMillis: 100, TTFTMillis: unknown, Cost: 2, InFlight: 0}
	p := read(t, `{}`)
	for _, order := range [][]Candidate{{{Signals: a}, {Signals: b}}, {{Signals: b}, {Signals: a}}} {
		p.Rate(order)
		if got := [2]float64{order[0].Score, order[1].Score}; got != [2]float64{0.5, 0.5} {
			t.Errorf("scores %v, want 0.5 each", got)
		}
		if got := Best(order); got != 0 {
			t.Errorf("best is %d, want 0", got)
		}
	}
}

func TestUnitOfLatency(t *testing.T) {
	candidate := func(ttft, tpot float64) Candidate {
		return Candidate{Signals: Signals{Quality: unknown, Cost: unknown, TTFTMillis: ttft, TPOTMillis: tpot}}
	}
	tests := []struct {
		name, policy string
		all          []Candidate
		want         []float64 // values
	}{
		{"all have both", byLatency, []Candidate{candidate(100, 10), candidate(50, 20)}, []float64{10, 20}},
		{"one lacks TPOT", byLatency, []Candidate{candidate(100, 10), candidate(50, unknown)}, []float64{100, 50}},
		{"one lacks both", byLatency, []Candidate{candidate(100, 10), candidate(unknown, unknown)},
			[]float64{10, unknown}},
		{"one lacks TPOT, by the source", byLatency + bySource, []Candidate{candidate(100, 10), candidate(50, unknown)},
			[]float64{10, 50}},
		{
			"one that is out does not matter", byLatency + `, "slo": {"max_ttft_ms": 400}`,
			[]Candidate{candidate(100, 10), candidate(500, unknown), candidate(50, 20)}, []float64{10, unknown, 20},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := read(t, "{"+tt.policy+"}")
			p.Rate(tt.all)
			for i, want := range tt.want {
				if got := tt.all[i].Values[Latency]; got != want && (known(got) || known(want)) {
					t.Errorf("candidate %d goes by %v, want %v", i, got, want)
				}
			}
		})
	}
}

func TestCeilings(t *testing.T) {
	tests := []struct {
		name, slo string
		all       []Candidate
		want      []string
	}{
		{"none", `{}`, with(cost, 1e12), []string{""}},
		{"zero is none", `{"max_cost_per_1m": 0, "max_inflight": 0, "max_ttft_ms": 0, "max_tpot_ms": 0}`,
			with(cost, 1e12), []string{""}},
		{"TPOT", `{"max_tpot_ms": 100}`, with(tpot, 500, 50, 100), []string{"max_tpot_ms", "", ""}},
		{"TTFT", `{"max_ttft_ms": 100}`, with(ttft, 500, 50, 100), []string{"max_ttft_ms", "", ""}},
		{"cost", `{"max_cost_per_1m": 5}`, with(cost, 5.01, 5, unknown), []string{"max_cost_per_1m", "", ""}},
		{"in flight", `{"max_inflight": 5}`, with(inFlight, 6, 5, 0), []string{"max_inflight", "", ""}},
		{"unknown passes", `{"max_tpot_ms": 1, "max_ttft_ms": 1, "max_cost_per_1m": 1}`, with(quality, 1),
			[]string{""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := read(t, `{"slo": `+tt.slo+`}`)
			left := p.Rate(tt.all)
			for i, want := range tt.want {
				c := &tt.all[i]
				if c.Broken != want {
					t.Errorf("candidate %d breaks %q, want %q", i, c.Broken, want)
				}
				if c.Broken != "" && (c.Score != 0 || c.Ratings != [Factors]float64{}) {
					t.Errorf("candidate %d breaks a ceiling and is rated: %v", i, c)
				}
				if want == "" {
					left--
				}
			}
			if left != 0 {
				t.Errorf("Rate counts %d too many", left)
			}
		})
	}
}

// TestGoldenCeiling: the better one is too slow.
func TestGoldenCeiling(t *testing.T) {
	all := []Candidate{
		{Signals: Signals{Quality: 0.99, TPOTMillis: 500, TTFTMillis: unknown, Cost: unknown}},
		{Signals: Signals{Quality: 0.3, TPOTMillis: 50, TTFTMillis: unknown, Cost: unknown}},
	}
	p := read(t, `{"slo": {"max_tpot_ms": 100}}`)
	if left, best := p.Rate(all), Best(all); left != 1 || best != 1 {
		t.Errorf("%d left and %d best, want one and the second", left, best)
	}
}

func TestLeastCost(t *testing.T) {
	tests := []struct {
		name, policy string
		costs        []float64
		want         int
	}{
		{"cheapest", `{}`, []float64{5, 0.5}, 1},
		{"first of equal ones", `{}`, []float64{5, 0.5, 0.5}, 1},
		{"unknown is more than any", `{}`, []float64{unknown, 1e12, unknown}, 1},
		{"nothing known", `{}`, []float64{unknown, unknown}, 0},
		{"free", `{}`, []float64{5, 0, 0.5}, 1},
		{"free by the source", `{"semantics": "source"}`, []float64{5, 0, 0.5}, 2},
		{"all free by the source", `{"semantics": "source"}`, []float64{0, 0}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := read(t, tt.policy)
			all := with(cost, tt.costs...)
			p.Rate(all)
			if got := LeastCost(all); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// TestRateProperties rates random candidates by random policies.
func TestRateProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	policies := []Policy{
		read(t, `{}`), read(t, `{"semantics": "source"}`),
		read(t, `{"weights": {"quality": 7, "latency": 0.1, "cost": 1, "load": 0}}`),
		read(t, `{"slo": {"max_tpot_ms": 60, "max_ttft_ms": 60, "max_cost_per_1m": 60, "max_inflight": 60}}`),
		read(t,
			`{"missing": {"quality": "neutral", "latency": "worst", "cost": "neutral"}, "slo": {"max_ttft_ms": 30}}`),
	}
	for range 20_000 {
		p := &policies[r.IntN(len(policies))]
		all := randomCandidates(r)
		left := p.Rate(all)
		checkRated(t, p, all, left)
		checkOrder(t, r, p, all)
		checkQualityHelps(t, r, p, all)
	}
}

func randomCandidates(r *rand.Rand) []Candidate {
	signal := func() float64 {
		switch r.IntN(5) {
		case 0:
			return unknown
		case 1:
			return float64(r.IntN(3))
		}
		return r.Float64() * 100
	}
	all := make([]Candidate, 1+r.IntN(6))
	for i := range all {
		all[i].Signals = Signals{signal(), signal(), signal(), signal(), r.IntN(100)}
	}
	return all
}

func checkRated(t *testing.T, p *Policy, all []Candidate, left int) {
	t.Helper()
	best := Best(all)
	if (best >= 0) != (left > 0) {
		t.Fatalf("best is %d with %d left: %+v", best, left, all)
	}
	for i := range all {
		c := &all[i]
		if !(c.Score >= 0 && c.Score <= 1+1e-12) {
			t.Fatalf("score %v is not within 0 to 1: %+v", c.Score, all)
		}
		sum := 0.0
		for f, rating := range c.Ratings {
			if !(rating >= 0 && rating <= 1) {
				t.Fatalf("rating %v is not within 0 to 1: %+v", rating, all)
			}
			sum += rating * p.weights[f]
		}
		if !(math.Abs(sum-c.Score) <= 1e-12) {
			t.Fatalf("score %v is not the sum %v: %+v", c.Score, sum, all)
		}
		if c.Broken == "" && (c.Score > all[best].Score || c.Score == all[best].Score && i < best) {
			t.Fatalf("best is %d, want %d: %+v", best, i, all)
		}
	}
}

// checkOrder: the scores do not depend on the order of the candidates.
func checkOrder(t *testing.T, r *rand.Rand, p *Policy, all []Candidate) {
	t.Helper()
	order := r.Perm(len(all))
	var shuffled []Candidate
	for _, i := range order {
		shuffled = append(shuffled, Candidate{Signals: all[i].Signals})
	}
	p.Rate(shuffled)
	for place, i := range order {
		if shuffled[place].Score != all[i].Score || shuffled[place].Broken != all[i].Broken {
			t.Fatalf("in another order %+v, want %+v", shuffled[place], all[i])
		}
	}
}

// checkQualityHelps: who gets better does not score less.
func checkQualityHelps(t *testing.T, r *rand.Rand, p *Policy, all []Candidate) {
	t.Helper()
	better, i := slices.Clone(all), r.IntN(len(all))
	if !known(better[i].Quality) {
		return
	}
	better[i].Quality += 10 * r.Float64()
	p.Rate(better)
	if better[i].Score < all[i].Score-1e-12 {
		t.Fatalf("with a quality of %v instead of %v candidate %d scores %v instead of %v", better[i].Quality,
			all[i].Quality, i, better[i].Score, all[i].Score)
	}
}
