package explain_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/explain"
	"github.com/pintle-dev/pintle/pluginconfig"
)

// restatement says what a plug-in does a second time, from its documented formula alone: plain loops over plain values, nothing shared
// with the plug-in. A new plug-in adds one entry to restatements.
type restatement struct {
	// parameters makes random parameters; nil stands for none.
	parameters func(r *rand.Rand) map[string]any
	// keeps is for filters.
	keeps func(parameters map[string]any, w *world, s *server) bool
	// scores is for scorers. It returns a score for each candidate's name.
	scores func(parameters map[string]any, w *world, candidates []*server) map[string]float64
}

// restatements are the filters and scorers, by type.
var restatements = map[string]restatement{
	"by-label":                     {parameters: byLabelParameters, keeps: byLabelKeeps},
	"decode-filter":                {keeps: decodeFilterKeeps},
	"queue-scorer":                 {scores: fewestOf(func(s *server) float64 { return s.waiting })},
	"running-requests-size-scorer": {scores: fewestOf(func(s *server) float64 { return s.running })},
	"kv-cache-utilization-scorer":  {scores: kvCacheScores},
}

func byLabelParameters(r *rand.Rand) map[string]any {
	p := map[string]any{"label": []string{"zone", "rack"}[r.IntN(2)], "validValues": []any{"1", "2"}[:1+r.IntN(2)]}
	if r.IntN(2) == 0 {
		p["allowsNoLabel"] = r.IntN(2) == 0
	}
	return p
}

func byLabelKeeps(p map[string]any, _ *world, s *server) bool {
	value, ok := s.labels[p["label"].(string)]
	if !ok {
		return p["allowsNoLabel"] == true
	}
	for _, valid := range p["validValues"].([]any) {
		if valid == value {
			return true
		}
	}
	return false
}

func decodeFilterKeeps(_ map[string]any, _ *world, s *server) bool {
	role, ok := s.labels["mif.moreh.io/role"]
	return !ok || role == "decode" || role == "both"
}

// fewestOf is (max - n) / (max - min), 1 when all are equal, 0.5 for a server without fresh metrics.
func fewestOf(n func(*server) float64) func(map[string]any, *world, []*server) map[string]float64 {
	return func(_ map[string]any, w *world, candidates []*server) map[string]float64 {
		var counts []float64
		for _, s := range candidates {
			if w.fresh(s) {
				counts = append(counts, n(s))
			}
		}
		slices.Sort(counts)
		scores := map[string]float64{}
		for _, s := range candidates {
			if !w.fresh(s) {
				scores[s.name] = 0.5
				continue
			}
			scores[s.name] = 1
			if least, most := counts[0], counts[len(counts)-1]; least != most {
				scores[s.name] = (most - n(s)) / (most - least)
			}
		}
		return scores
	}
}

func kvCacheScores(_ map[string]any, w *world, candidates []*server) map[string]float64 {
	scores := map[string]float64{}
	for _, s := range candidates {
		scores[s.name] = 0.5
		if w.fresh(s) {
			scores[s.name] = 1 - s.kvCacheUsage
		}
	}
	return scores
}

// rounds is how many random worlds the restatements are held against.
const rounds = 600

func TestRestatement(t *testing.T) {
	picks, refusals := 0, 0
	for seed := range uint64(rounds) {
		w := randomWorld(rand.New(rand.NewPCG(seed, 42)))
		got, ok := w.explain(t, seed)["p"]
		want := w.restate()
		switch {
		case !ok:
			t.Fatalf("world %d: the profile did not run", seed)
		case !maps.Equal(got.FilteredOut, want.filteredOut):
			t.Fatalf("world %d: filtered out %v, want %v\n%s", seed, got.FilteredOut, want.filteredOut, w)
		case !close12(got.Totals, want.totals):
			t.Fatalf("world %d: totals %v, want %v\n%s", seed, got.Totals, want.totals, w)
		}
		if !maps.EqualFunc(got.Scores, want.scores, close12) {
			t.Fatalf("world %d: scores %v, want %v\n%s", seed, got.Scores, want.scores, w)
		}
		if len(want.totals) == 0 {
			refusals++
			if len(got.Picked) != 0 {
				t.Fatalf("world %d: picked %v of nobody", seed, got.Picked)
			}
			continue
		}
		picks++
		best := slices.Max(slices.Collect(maps.Values(want.totals)))
		if len(got.Picked) != 1 || math.Abs(want.totals[got.Picked[0]]-best) > 1e-12 {
			t.Fatalf("world %d: picked %v, but the best total is %v\n%s", seed, got.Picked, best, w)
		}
	}
	if picks < rounds/2 || refusals < rounds/100 {
		t.Errorf("%d worlds with a pick and %d without; the worlds are not worth much", picks, refusals)
	}
}

func close12(a, b map[string]float64) bool {
	return maps.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-12 })
}

// explain asks the code under test.
func (w *world) explain(t *testing.T, seed uint64) map[string]*explain.Profile {
	t.Helper()
	config, err := pluginconfig.Parse(w.config())
	if err != nil {
		t.Fatalf("world %d: %v\n%s", seed, err, w)
	}
	pool, err := explain.ReadEndpoints(w.endpoints(), goldenNow)
	if err != nil {
		t.Fatalf("world %d: %v\n%s", seed, err, w)
	}
	return explain.New(config.Plan, pool, seed).Explain(explain.Request{Body: w.body}, goldenNow).Profiles
}

// restated is what should come of a world.
type restated struct {
	filteredOut map[string]string
	scores      map[string]map[string]float64
	totals      map[string]float64
}

func (w *world) restate() restated {
	result := restated{filteredOut: map[string]string{}, scores: map[string]map[string]float64{}, totals: map[string]float64{}}
	candidates := w.notExcluded(result.filteredOut)
	for _, p := range w.plugins {
		keeps := restatements[p.kind].keeps
		if keeps == nil {
			continue
		}
		var kept []*server
		for _, s := range candidates {
			if keeps(p.parameters, w, s) {
				kept = append(kept, s)
			} else {
				result.filteredOut[s.name] = p.name
			}
		}
		candidates = kept
	}
	if len(candidates) == 0 {
		return result
	}
	for _, s := range candidates {
		result.totals[s.name] = 0
	}
	for _, p := range w.plugins {
		if scores := restatements[p.kind].scores; scores != nil {
			result.scores[p.name] = map[string]float64{}
			for name, score := range scores(p.parameters, w, candidates) {
				result.scores[p.name][name] = min(max(score, 0), 1)
				result.totals[name] += p.weight * result.scores[p.name][name]
			}
		}
	}
	return result
}

// notExcluded returns the servers that the stale policy leaves.
func (w *world) notExcluded(filteredOut map[string]string) []*server {
	if w.policy != "exclude" || !slices.ContainsFunc(w.servers, w.fresh) {
		return w.servers
	}
	var left []*server
	for _, s := range w.servers {
		if w.fresh(s) {
			left = append(left, s)
		} else {
			filteredOut[s.name] = "stale"
		}
	}
	return left
}

func (w *world) fresh(s *server) bool {
	return s.sampled && (w.policy == "last" || s.age <= w.staleAfter)
}
