package explain_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
)

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
		if len(got.Picked) != 1 || !(math.Abs(want.totals[got.Picked[0]]-best) <= 1e-12) {
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
	return explain.New(config, pool, seed).Explain(explain.Request{Headers: w.headers, Body: w.body()},
		goldenNow).Profiles
}

// restated is what should come of a world.
type restated struct {
	filteredOut map[string]string
	scores      map[string]map[string]float64
	totals      map[string]float64
}

func (w *world) restate() restated {
	result := restated{filteredOut: map[string]string{}, scores: map[string]map[string]float64{},
		totals: map[string]float64{}}
	candidates := w.servers
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
	candidates = w.notExcluded(candidates, result.filteredOut)
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

// notExcluded returns the candidates that the stale policy leaves.
func (w *world) notExcluded(candidates []*server, filteredOut map[string]string) []*server {
	if w.policy != "exclude" || !slices.ContainsFunc(candidates, w.fresh) {
		return candidates
	}
	var left []*server
	for _, s := range candidates {
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
