package selectors_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestDecisionMistakes: what is wrong with a decision is said by its key.
func TestDecisionMistakes(t *testing.T) {
	const all = "plugins[0](multi-factor-selector).parameters"
	const at = all + ".decisions[0]"
	const model = `"modelRefs": [{"model": "m"}]`
	for _, tc := range []struct{ name, decisions, want string }{
		{"one", `{` + model + `}`, ""},
		{"two", `{` + model + `}, {"name": "b", ` + model + `}`, ""},
		{"none", ``, all + ".decisions: is empty; give at least one, with a name and modelRefs"},
		{"one name", `{` + model + `}, {"name": "auto", ` + model + `}`,
			all + `.decisions[1].name: "auto" names two decisions; give one of them another name`},
		{"no name", `{"name": "", ` + model + `}`, at + ".name: is empty; it is what clients ask for"},
		{"no models", `{}`, at + ".modelRefs: is missing; name the models to choose from"},
		{"a model without a name", `{"modelRefs": [{"quality_score": 1}]}`,
			at + ".modelRefs[0].model: is missing; name a model that servers serve"},
		{"a model twice", `{"modelRefs": [{"model": "m"}, {"model": "m"}]}`,
			at + `.modelRefs[1].model: "m" is listed twice`},
		{"a model of two decisions", `{` + model + `}, {"name": "b", ` + model + `}`, ""},
		{"reasoning", `{"modelRefs": [{"model": "m", "use_reasoning": true}]}`, at + ".modelRefs[0].use_reasoning: " +
			"true is not supported: only the model's name is written into the request; remove it"},
		{"no reasoning", `{"modelRefs": [{"model": "m", "use_reasoning": false}]}`, ""},
		{"what is not weighed", `{"description": "x", "modelRefs": [{"model": "m", "pricing": {"completion_per_1m": 1,
			"currency": "EUR"}}]}`, ""},
		{"another algorithm", `{"algorithm": {"type": "static"}, ` + model + `}`,
			at + `.algorithm.type: "static" is not one of multi_factor`},
		{"an unknown key", `{"x": 1, ` + model + `}`,
			at + `: unknown key "x"; known are name, description, algorithm, modelRefs`},
		{"an unknown key of an algorithm", `{"algorithm": {"x": 1}, ` + model + `}`,
			at + `.algorithm: unknown key "x"; known are type, multi_factor`},
		{"an unknown key of a model", `{"modelRefs": [{"model": "m", "x": 1}]}`,
			at + `.modelRefs[0]: unknown key "x"; known are model, quality_score, use_reasoning, pricing`},
		{"an unknown key of a price", `{"modelRefs": [{"model": "m", "pricing": {"x": 1}}]}`, at + `.modelRefs[0].pricing: ` +
			`unknown key "x"; known are prompt_per_1m, completion_per_1m, currency`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plantest.Mistakes(`{"plugins": [{"type": "multi-factor-selector", "parameters": {"decisions": [` +
				tc.decisions + `]}}]}`)
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestSelectorOptions: what the state has to keep for a decision.
func TestSelectorOptions(t *testing.T) {
	const least = `{"type": "active-request-scorer", "parameters": {"requestTimeout": "1h"}}, `
	for _, tc := range []struct {
		name, plugins, policies string
		timeout, window         time.Duration
		latency                 bool
	}{
		{"the usual", ``, decision("a", ``), 10 * time.Minute, 0, true},
		{"no latency", ``, decision("a", quality), 10 * time.Minute, 0, false},
		{"a window", ``, decision("a", `"latency_window": "2s"`), 10 * time.Minute, 2 * time.Second, true},
		{"the longest window", ``, decision("a", `"latency_window": "3s"`) + `, ` +
			decision("b", `"latency_window": "2s"`), 10 * time.Minute, 3 * time.Second, true},
		{"the longest window, last", ``, decision("a", `"latency_window": "2s"`) + `, ` +
			decision("b", `"latency_window": "3s"`), 10 * time.Minute, 3 * time.Second, true},
		{"a window of no latency", ``, decision("a", `"latency_window": "3s", `+quality), 10 * time.Minute, 0, false},
		{"beside one that waits longer", least, decision("a", quality), time.Hour, 0, false},
	} {
		options := plantest.Plan(t, `{"plugins": [`+tc.plugins+`{"type": "multi-factor-selector", "parameters":
			{"decisions": [`+tc.policies+`]}}]}`, plantest.Neutral).StateOptions()
		if !options.InFlight || options.RequestTimeout != tc.timeout || options.WindowAge != tc.window ||
			options.ModelLatency != tc.latency {
			t.Errorf("%s: requests %v for %v, latencies %v for %v; want true for %v, %v for %v", tc.name,
				options.InFlight, options.RequestTimeout, options.ModelLatency, options.WindowAge, tc.timeout,
				tc.latency, tc.window)
		}
	}
}

// TestExplainedSelection: what people are told of each model that a virtual one stands for.
func TestExplainedSelection(t *testing.T) {
	f := newFleet(t, `{"modelRefs": [{"model": "gone"}, {"model": "large", "quality_score": 4, "pricing":
		{"prompt_per_1m": 3}}, {"model": "small", "quality_score": 2, "pricing": {"prompt_per_1m": 1}}, {"model": "new"}],
		"algorithm": {"multi_factor": {"slo": {"max_cost_per_1m": 2}, "missing": {"quality": "neutral"}}}}`,
		[]string{"large", "small", "new"})
	f.finish("small", 250*time.Millisecond)
	f.open("large")
	f.cycle.Request.Model = "auto"
	trace := plantest.Decide(f.plan, f.cycle)
	want := []string{
		"gone: not served",
		"large: max_cost_per_1m, quality_score 4 prompt_per_1m 3 inflight 1",
		"small: 0.5, quality_score 2 ttft_ms 250 prompt_per_1m 1 inflight 0, quality 0.5 latency 0.5 cost 0.5 load 0.5",
		"new: 0.375, inflight 0, quality 0.5 latency 0.5 cost 0 load 0.5",
	}
	s := trace.Selection
	if s.Decision != "auto" || s.Model != "small" || s.Reason != "score" {
		t.Errorf("%s is %s by %s, want auto, small and score", s.Decision, s.Model, s.Reason)
	}
	for i := range s.Models {
		if got := optionText(&s.Models[i]); len(s.Models) != len(want) || got != want[i] {
			t.Errorf("got  %s, of %d\nwant %s, of %d", got, len(s.Models), want[i], len(want))
		}
	}
}

// optionText is what is told of a model: why it is removed or its score, its signals and its ratings.
func optionText(o *scoring.ModelOption) string {
	text := o.Model + ": " + o.Removed
	if o.Removed == "" {
		text += strconv.FormatFloat(o.Score, 'g', -1, 64)
	}
	for _, values := range [][]scoring.NamedValue{o.Signals, o.Ratings} {
		for i, v := range values {
			if i == 0 {
				text += ","
			}
			text += " " + v.Name + " " + strconv.FormatFloat(v.Value, 'g', -1, 64)
		}
	}
	return text
}
