package filters_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

const byQueue = `{"type": "endpoint-attribute-filter", "parameters": {"attribute": "WaitingQueueSize", "algorithm": `

// queues makes an endpoint with each length of its queue, unknown where it is negative.
func queues(lengths ...int) (endpoints []scoring.Endpoint) {
	for _, n := range lengths {
		e := scoring.Endpoint{}
		if n >= 0 {
			e = plantest.Sampled(scoring.Metrics{WaitingRequests: n})
		}
		endpoints = append(endpoints, e)
	}
	return endpoints
}

func TestAttributeRules(t *testing.T) {
	const fails = `, "onMissing": "Fail"`
	tests := []struct {
		name, algorithm, more string
		queues                []int
		want                  string
	}{
		{"less", `{"type": "threshold", "threshold": {"operator": "LessThan", "value": 5}}`, "", []int{4, 5, 6}, "a"},
		{"at most", `{"type": "threshold", "threshold": {"operator": "LessThanOrEqual", "value": 5}}`, "",
			[]int{4, 5, 6}, "a b"},
		{"greater", `{"type": "threshold", "threshold": {"operator": "GreaterThan", "value": 5}}`, "", []int{4, 5, 6}, "c"},
		{"at least", `{"type": "threshold", "threshold": {"operator": "GreaterThanOrEqual", "value": 5}}`, "",
			[]int{4, 5, 6}, "b c"},
		{"equal", `{"type": "threshold", "threshold": {"operator": "Equal", "value": 5}}`, "", []int{4, 5, 6}, "b"},
		{"not equal", `{"type": "threshold", "threshold": {"operator": "NotEqual", "value": 5}}`, "", []int{4, 5, 6}, "a c"},

		{"range", `{"type": "range", "range": {"min": 2, "max": 4}}`, "", []int{1, 2, 3, 4, 5}, "b c d"},
		{"range of one value", `{"type": "range", "range": {"min": 2, "max": 2}}`, "", []int{1, 2, 3}, "b"},
		{"range, unknown kept", `{"type": "range", "range": {"min": 2, "max": 4}}`, "", []int{-1, 3, 9}, "a b"},
		{"range, unknown removed", `{"type": "range", "range": {"min": 2, "max": 4}}`, fails, []int{-1, 3, 9}, "b"},
		{"range, none left", `{"type": "range", "range": {"min": 2, "max": 4}}`, "", []int{1, 9}, ""},
		{"range, all in place of none", `{"type": "range", "range": {"min": 2, "max": 4}}`, `, "fallbackOnEmpty": true`,
			[]int{1, 9}, "a b"},

		{"the lowest", `{"type": "topK", "topK": {"k": 2, "higherIsBetter": false}}`, "", []int{7, 1, 9, 3}, "b d"},
		{"the highest", `{"type": "topK", "topK": {"k": 2, "higherIsBetter": true}}`, "", []int{7, 1, 9, 3}, "a c"},
		{"as many as there are", `{"type": "topK", "topK": {"k": 2, "higherIsBetter": true}}`, "", []int{7, 1}, "a b"},
		{"more than there are", `{"type": "topK", "topK": {"k": 9, "higherIsBetter": true}}`, "", []int{7, 1}, "a b"},
		{"more than there are, and one is 0", `{"type": "topK", "topK": {"k": 9, "higherIsBetter": false}}`, "",
			[]int{0, 1}, "a b"},
		{"the lowest and the unknown", `{"type": "topK", "topK": {"k": 1, "higherIsBetter": false}}`, "",
			[]int{7, -1, 9}, "a b"},
		{"the lowest of the known", `{"type": "topK", "topK": {"k": 1, "higherIsBetter": false}}`, fails,
			[]int{7, -1, 9}, "a"},
		{"none is known", `{"type": "topK", "topK": {"k": 1, "higherIsBetter": false}}`, "", []int{-1, -1}, "a b"},
		{"equal ones among the lowest", `{"type": "topK", "topK": {"k": 3, "higherIsBetter": false}}`, "",
			[]int{2, 5, 2, 3}, "a c d"},

		{"the lower half", `{"type": "percentile", "percentile": {"percentile": 50, "higherIsBetter": false}}`, "",
			[]int{4, 3, 2, 1}, "c d"},
		{"half and what is above", `{"type": "percentile", "percentile": {"percentile": 50, "higherIsBetter": true}}`, "",
			[]int{4, 3, 2, 1}, "a b c"},
		{"a place between two", `{"type": "percentile", "percentile": {"percentile": 30, "higherIsBetter": false}}`, "",
			[]int{4, 3, 2, 1}, "c d"},
		{"the least percentile", `{"type": "percentile", "percentile": {"percentile": 0, "higherIsBetter": false}}`, "",
			[]int{4, 3, 2, 1}, "d"},
		{"the greatest percentile", `{"type": "percentile", "percentile": {"percentile": 100, "higherIsBetter": true}}`, "",
			[]int{4, 3, 2, 1}, "a"},
		{"a place that rounding puts behind its own",
			`{"type": "percentile", "percentile": {"percentile": 28, "higherIsBetter": false}}`, "",
			[]int{1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, "a b c d e f g"},
		{"all equal", `{"type": "percentile", "percentile": {"percentile": 25, "higherIsBetter": false}}`, "",
			[]int{3, 3, 3}, "a b c"},
		{"a percentile of the known", `{"type": "percentile", "percentile": {"percentile": 50, "higherIsBetter": false}}`, fails,
			[]int{-1, 4, -1, 1}, "d"},
		{"no value for a percentile", `{"type": "percentile", "percentile": {"percentile": 50, "higherIsBetter": false}}`, "",
			[]int{-1}, "a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := plantest.Keep(t, byQueue+test.algorithm+test.more+`}}`, queues(test.queues...)...)
			if strings.Join(got, " ") != test.want {
				t.Errorf("of %v got %v, want %s", test.queues, got, test.want)
			}
		})
	}
}

// TestEqualAttributes: which of the equal ones topK keeps is chance.
func TestEqualAttributes(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [`+byQueue+
		`{"type": "topK", "topK": {"k": 3, "higherIsBetter": true}}}}]}`, plantest.Neutral)
	c := plantest.Cycle(plantest.Pool(queues(2, 1, 2, 9, 2)...), 1)
	counts := map[string]int{}
	for range 3000 {
		counts[strings.Join(slices.Sorted(slices.Values(plantest.Decide(plan, c).Candidates)), "")]++
	}
	plantest.CheckUniform(t, counts, "acd", "ade", "cde")
	if n := testing.AllocsPerRun(20, func() { _, _ = plan.Decide(c) }); n != 0 {
		t.Errorf("got %v allocations in a decision, want none", n)
	}
}

func TestAttributeRuleMistakes(t *testing.T) {
	const at = "plugins[0](endpoint-attribute-filter).parameters.algorithm"
	const name = "endpoint-attribute-filter: algorithm"
	tests := []struct{ name, algorithm, mistakes, warnings string }{
		{"no type", `{}`, at + ".type: is missing; it is one of threshold, range, topK, percentile", ""},
		{"another type", `{"type": "best"}`, at + `.type: "best" is not one of threshold, range, topK, percentile`, ""},
		{"no operator", `{"type": "threshold", "threshold": {"value": 1}}`,
			at + ".threshold.operator: is missing; it is one such as LessThanOrEqual", ""},
		{"no value", `{"type": "threshold", "threshold": {"operator": "Equal"}}`,
			at + ".threshold.value: is missing; give the number to compare with", ""},
		{"half a range", `{"type": "range", "range": {"min": 1}}`,
			at + ".range.max: is missing; give the least and the greatest value that pass", ""},
		{"the other half", `{"type": "range", "range": {"max": -1}}`,
			at + ".range.min: is missing; give the least and the greatest value that pass", ""},
		{"an empty range", `{"type": "range", "range": {"min": 2, "max": 1.5}}`,
			at + ".range.max: 1.5 is less than min", ""},
		{"none of them", `{"type": "topK", "topK": {"k": 0, "higherIsBetter": true}}`,
			at + ".topK.k: 0 is not a whole number from 1 to 1000000", ""},
		{"no number", `{"type": "topK", "topK": {"higherIsBetter": true}}`,
			at + ".topK.k: is missing; it says how many of the candidates are kept", ""},
		{"too great a percentile", `{"type": "percentile", "percentile": {"percentile": 101, "higherIsBetter": true}}`,
			at + ".percentile.percentile: 101 is not a number from 0 to 100", ""},
		{"a key of another one", `{"type": "topK", "topK": {"k": 1, "higherIsBetter": true, "percentile": 5}}`,
			at + `.topK: unknown key "percentile"; known are k, higherIsBetter`, ""},
		{"either end", `{"type": "topK", "topK": {"k": 1}}`, "",
			name + ".topK.higherIsBetter is not given: the lowest values are kept"},
		{"one too many", `{"type": "percentile", "percentile": {"percentile": 5, "higherIsBetter": true}, "topK": {"k": 1}}`,
			"", name + ".topK has no effect with type: percentile"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"plugins": [`+byQueue+test.algorithm+`}}]}`, test.mistakes, test.warnings)
		})
	}
}
