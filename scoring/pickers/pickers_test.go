package pickers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/scoring/pickers"
)

// picker builds a picker that picks up to most endpoints.
func picker(t *testing.T, build scoring.Constructor, most int) scoring.Picker {
	t.Helper()
	root, document := strictjson.Parse(fmt.Appendf(nil, `{"maxNumOfEndpoints": %d}`, most), "parameters")
	p := build(&scoring.Builder{Object: root}).(scoring.Picker)
	root.Close()
	if err := document.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMaxNumOfEndpoints: every picker picks as many endpoints as the parameter says, one by default.
func TestMaxNumOfEndpoints(t *testing.T) {
	const at = ".parameters.maxNumOfEndpoints: "
	const heimdall, llmd = ``, `"apiVersion": "llm-d.ai/v1alpha1", `
	for _, tc := range []struct {
		name, dialect, parameters string
		mistake, warning          string // what follows the plug-in
		want                      int
	}{
		{"by default", heimdall, `{}`, "", "", 1},
		{"two", heimdall, `{"maxNumOfEndpoints": 2}`, "", "", 2},
		{"the most", heimdall, `{"maxNumOfEndpoints": 1024}`, "", "", 3},
		{"more than the most", heimdall, `{"maxNumOfEndpoints": 1025}`, "1025 is not a whole number from 1 to 1024", "", 0},
		{"none", heimdall, `{"maxNumOfEndpoints": 0}`, "0 is not a whole number from 1 to 1024", "", 0},
		{"none in llm-d's dialect", llmd, `{"maxNumOfEndpoints": 0}`, "", "maxNumOfEndpoints: 0 counts as 1", 1},
		{"more in llm-d's dialect", llmd, `{"maxNumOfEndpoints": 1025}`, "", "maxNumOfEndpoints: 1025 counts as 1024", 3},
		{"below none in llm-d's dialect", llmd, `{"maxNumOfEndpoints": -3}`, "", "maxNumOfEndpoints: -3 counts as 1", 1},
	} {
		for _, kind := range []string{"max-score-picker", "random-picker", "weighted-random-picker", "power-of-two",
			"round-robin"} {
			t.Run(tc.name+" of "+kind, func(t *testing.T) {
				config := `{` + tc.dialect + `"plugins": [{"type": "` + kind + `", "parameters": ` + tc.parameters + `}]}`
				mistake, warning := tc.mistake, tc.warning
				if mistake != "" {
					mistake = "plugins[0](" + kind + ")" + at + mistake
				}
				if warning != "" {
					warning = kind + ": " + warning
				}
				plantest.CheckTold(t, config, mistake, warning)
				if mistake != "" {
					return
				}
				plan := plantest.Plan(t, config, plantest.Neutral)
				pool := plantest.Pool(make([]scoring.Endpoint, 3)...)
				if got := plantest.Decide(plan, plantest.Cycle(pool, 1)).Picks; len(got) != tc.want {
					t.Errorf("picked %q, want %d endpoints", got, tc.want)
				}
			})
		}
	}
}

// rank makes endpoints a, b, c, ... with the totals.
func rank(totals ...float64) []scoring.Ranked {
	pool := plantest.Pool(make([]scoring.Endpoint, len(totals))...)
	ranked := make([]scoring.Ranked, len(totals))
	for i, total := range totals {
		ranked[i] = scoring.Ranked{Endpoint: &pool.Endpoints[i], Total: total}
	}
	return ranked
}

// names joins the names of the first n endpoints.
func names(ranked []scoring.Ranked, n int) string {
	s := ""
	for _, r := range ranked[:n] {
		s += r.Endpoint.Name
	}
	return s
}

func TestMaxScorePicker(t *testing.T) {
	tests := []struct {
		name   string
		most   int
		totals []float64
		want   string
	}{
		{"first is best", 1, []float64{3, 2, 1}, "a"},
		{"middle is best", 1, []float64{1, 3, 2}, "b"},
		{"last is best", 1, []float64{1, 2, 3}, "c"},
		{"one", 1, []float64{0}, "a"},
		{"two of three, best first", 2, []float64{1, 2, 3}, "cb"},
		{"as many as there are", 3, []float64{2, 3, 1}, "bac"},
		{"more than there are", 1024, []float64{2, 3, 1}, "bac"},
		{"zero is picked too", 3, []float64{0, 2, 1}, "bca"},
		{"hardly better", 1, []float64{1, 1 + 1e-15}, "b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, ranked := scoring.NewCycle(1), rank(test.totals...)
			n := picker(t, pickers.NewMaxScorePicker, test.most).Pick(c, ranked)
			if got := names(ranked, n); got != test.want {
				t.Errorf("picked %q, want %q", got, test.want)
			}
		})
	}
}

// Whatever the totals, the picks come best first, none that was left out is better, and nobody is lost or doubled.
func TestMaxScorePickerKeepsTheBest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	c := scoring.NewCycle(3)
	for range 3000 {
		totals := make([]float64, 1+random.IntN(12))
		for i := range totals {
			totals[i] = float64(random.IntN(5)) / 4 // few values, many ties
		}
		most := 1 + random.IntN(len(totals)+3)
		ranked := rank(totals...)
		n := picker(t, pickers.NewMaxScorePicker, most).Pick(c, ranked)
		if want := min(most, len(totals)); n != want {
			t.Fatalf("totals %v: picked %d, want %d", totals, n, want)
		}
		checkPermutation(t, ranked, totals)
		for i, r := range ranked {
			if i > 0 && i < n && r.Total > ranked[i-1].Total {
				t.Fatalf("totals %v, %d picked: %q is not best first", totals, n, names(ranked, n))
			}
			if i >= n && r.Total > ranked[n-1].Total {
				t.Fatalf("totals %v: picked %q, but %s is better", totals, names(ranked, n), r.Endpoint.Name)
			}
		}
	}
}

func checkPermutation(t *testing.T, ranked []scoring.Ranked, totals []float64) {
	t.Helper()
	seen := make([]bool, len(totals))
	for _, r := range ranked {
		if seen[r.Endpoint.Index] {
			t.Fatalf("%s is there twice", r.Endpoint.Name)
		}
		seen[r.Endpoint.Index] = true
		if r.Total != totals[r.Endpoint.Index] {
			t.Fatalf("%s has the total %v, want %v", r.Endpoint.Name, r.Total, totals[r.Endpoint.Index])
		}
	}
}

func TestRandomPicker(t *testing.T) {
	for _, test := range []struct{ most, of, want int }{{1, 1, 1}, {1, 5, 1}, {3, 5, 3}, {5, 5, 5}, {9, 5, 5},
		{1024, 1, 1}} {
		t.Run(fmt.Sprintf("%d of %d", test.most, test.of), func(t *testing.T) {
			totals := make([]float64, test.of)
			ranked := rank(totals...)
			if n := picker(t, pickers.NewRandomPicker, test.most).Pick(scoring.NewCycle(1), ranked); n != test.want {
				t.Errorf("picked %d, want %d", n, test.want)
			}
			checkPermutation(t, ranked, totals)
		})
	}
}

// Picks that must be uniform, over all orders in which they can come.
func TestUniform(t *testing.T) {
	tests := []struct {
		name   string
		build  scoring.Constructor
		most   int
		totals []float64
		want   []string
	}{
		{"max-score, all equal", pickers.NewMaxScorePicker, 1, []float64{1, 1, 1, 1}, []string{"a", "b", "c", "d"}},
		{"max-score, all zero", pickers.NewMaxScorePicker, 1, []float64{0, 0}, []string{"a", "b"}},
		{"max-score, tie of three", pickers.NewMaxScorePicker, 1, []float64{2, 0, 2, 1, 2}, []string{"a", "c", "e"}},
		{"max-score, tie at the end", pickers.NewMaxScorePicker, 1, []float64{0, 1, 2, 2}, []string{"c", "d"}},
		{"max-score, order of a tie", pickers.NewMaxScorePicker, 2, []float64{1, 1, 0, 1},
			[]string{"ab", "ad", "ba", "bd", "da", "db"}},
		{"max-score, tie for the second place", pickers.NewMaxScorePicker, 2, []float64{1, 3, 1, 1},
			[]string{"ba", "bc", "bd"}},
		{"weighted-random, all equal", pickers.NewWeightedRandomPicker, 1, []float64{2, 2, 2}, []string{"a", "b", "c"}},
		{"weighted-random, all zero", pickers.NewWeightedRandomPicker, 2, []float64{0, 0, 0},
			[]string{"ab", "ac", "ba", "bc", "ca", "cb"}},
		{"weighted-random, zeros come last", pickers.NewWeightedRandomPicker, 3, []float64{0, 1, 1},
			[]string{"bca", "cba"}},
		{"weighted-random, one above zero", pickers.NewWeightedRandomPicker, 2, []float64{0, 1e-9, 0},
			[]string{"ba", "bc"}},
		{"random, one", pickers.NewRandomPicker, 1, []float64{9, 0, 1, 2}, []string{"a", "b", "c", "d"}},
		{"random, two", pickers.NewRandomPicker, 2, []float64{9, 0, 1}, []string{"ab", "ac", "ba", "bc", "ca", "cb"}},
		{"random, all", pickers.NewRandomPicker, 9, []float64{9, 0, 1},
			[]string{"abc", "acb", "bac", "bca", "cab", "cba"}},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, p := scoring.NewCycle(uint64(i)), picker(t, test.build, test.most)
			ranked, counts := rank(test.totals...), map[string]int{}
			fresh := slices.Clone(ranked)
			for range 12000 {
				copy(ranked, fresh)
				counts[names(ranked, p.Pick(c, ranked))]++
			}
			plantest.CheckUniform(t, counts, test.want...)
		})
	}
}

// The first pick is proportional to the totals; the second to those of the rest.
func TestWeightedRandomPickerIsProportional(t *testing.T) {
	const n = 60000
	p, c := picker(t, pickers.NewWeightedRandomPicker, 2), scoring.NewCycle(1)
	ranked, counts := rank(1, 2, 5), map[string]float64{}
	fresh := slices.Clone(ranked)
	for range n {
		copy(ranked, fresh)
		counts[names(ranked, p.Pick(c, ranked))]++
	}
	want := map[string]float64{
		"ab": 1. / 8 * 2 / 7, "ac": 1. / 8 * 5 / 7, "ba": 2. / 8 * 1 / 6, "bc": 2. / 8 * 5 / 6, "ca": 5. / 8 * 1 / 3,
		"cb": 5. / 8 * 2 / 3,
	}
	for picks, probability := range want {
		// Five standard deviations of the binomial distribution.
		if off := math.Abs(counts[picks]/n - probability); off > 5*math.Sqrt(probability*(1-probability)/n) {
			t.Errorf("%s was picked with a share of %.4f, want %.4f", picks, counts[picks]/n, probability)
		}
	}
}
