package scorers_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// rated is an endpoint with a quality and a cost in its labels, and with earlier requests.
type rated struct {
	quality, cost string
	inFlight      int
	ttftMicros    uint32 // 0 for none
}

func TestMultiFactorScorer(t *testing.T) {
	const (
		byQuality = `"weights": {"quality": 1, "latency": 0, "cost": 0, "load": 0}`
		byLoad    = `"weights": {"quality": 0, "latency": 0, "cost": 0, "load": 1}`
		byLatency = `"weights": {"quality": 0, "latency": 1, "cost": 0, "load": 0}`
	)
	tests := []struct {
		name, parameters string
		pool             []rated
		want             []float64 // of the candidates that are left
	}{
		{"quality", byQuality, []rated{{quality: "0.5"}, {quality: "1"}, {quality: "0"}, {}}, []float64{0.5, 1, 0, 0}},
		{"labels that are no numbers", byQuality,
			[]rated{{quality: "1e3"}, {quality: "-1"}, {quality: "2"}, {quality: "1"}}, []float64{0, 0, 1, 0}},
		{"other labels", byQuality + `, "quality_label": "pintle.dev/prompt-per-1m"`,
			[]rated{{quality: "9", cost: "1"}, {cost: "3"}}, []float64{0, 1}},
		{"load", byLoad, []rated{{inFlight: 4}, {}, {inFlight: 1}}, []float64{0, 1, 0.75}},
		{"latency", byLatency, []rated{{ttftMicros: 3000}, {ttftMicros: 1000}, {}}, []float64{0, 1, 0.5}},
		{"one", ``, []rated{{}}, []float64{0.25 * (0 + 0.5 + 0 + 0.5)}},
		{"a ceiling", byLoad + `, "slo": {"max_ttft_ms": 2}`,
			[]rated{{inFlight: 1}, {ttftMicros: 2001}, {ttftMicros: 2000}}, []float64{0, 0, 1}},
		{"none left", `"slo": {"max_inflight": 1}`,
			[]rated{{cost: "3", inFlight: 2}, {cost: "1", inFlight: 2}, {inFlight: 2}, {cost: "1", inFlight: 2}},
			[]float64{0, 1, 0, 1}},
		{"none left and no cost known", `"slo": {"max_inflight": 1}`, []rated{{inFlight: 2}, {inFlight: 3}},
			[]float64{1, 1}},
		{"none left, the first", `"slo": {"max_inflight": 1}, "on_no_candidates": "first"`,
			[]rated{{inFlight: 2}, {inFlight: 2}}, []float64{1, 0}},
		{"filtered", byLoad + `, "slo": {"max_inflight": 1}, "on_no_candidates": "fail"`,
			[]rated{{inFlight: 1}, {inFlight: 2}, {}}, []float64{0, 1}},
		{"all filtered", `"slo": {"max_inflight": 1}, "on_no_candidates": "fail"`,
			[]rated{{inFlight: 2}, {inFlight: 2}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "multi-factor-scorer", "parameters": {`+tt.parameters+
				`}}]}`, plantest.Neutral)
			trace := plantest.Decide(plan, ratedCycle(plan, tt.pool))
			var got []float64
			for _, name := range trace.Candidates {
				got = append(got, trace.Scores["multi-factor-scorer"][name])
			}
			if !slices.EqualFunc(got, tt.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
				t.Errorf("scores %v, want %v", got, tt.want)
			}
		})
	}
}

// TestMultiFactorState: for how long requests and latencies count, where others ask for less or more.
func TestMultiFactorState(t *testing.T) {
	const byLoad = `"weights": {"quality": 0, "latency": 0, "cost": 0, "load": 1}`
	const longer = `{"type": "active-request-scorer", "parameters": {"requestTimeout": "15m"}},
		{"type": "multi-factor-scorer", "name": "other", "parameters": {"latency_window": "5m"}}, `
	for _, tc := range []struct {
		name, others, parameters string
		timeout, window          time.Duration
		latency                  bool
	}{
		{"by default", "", ``, 10 * time.Minute, 0, true},
		{"a window", "", `"latency_window": "2m"`, 10 * time.Minute, 2 * time.Minute, true},
		{"others ask for more", longer, `"latency_window": "2m"`, 15 * time.Minute, 5 * time.Minute, true},
		{"others ask for less", longer, `"latency_window": "20m"`, 15 * time.Minute, 20 * time.Minute, true},
		{"latencies do not count", "", byLoad + `, "latency_window": "2m"`, 10 * time.Minute, 0, false},
		{"they count for a ceiling alone", "", byLoad + `, "slo": {"max_ttft_ms": 1}`, 10 * time.Minute, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := plantest.Plan(t, `{"plugins": [`+tc.others+`{"type": "multi-factor-scorer", "parameters": {`+tc.parameters+
				`}}]}`, plantest.Neutral).StateOptions()
			if o.RequestTimeout != tc.timeout || o.WindowAge != tc.window || o.Latency != tc.latency {
				t.Errorf("requests count for %v, latencies for %v: %v; want %v, %v: %v", o.RequestTimeout, o.WindowAge,
					o.Latency, tc.timeout, tc.window, tc.latency)
			}
		})
	}
}

func ratedCycle(plan *scoring.Plan, endpoints []rated) *scoring.Cycle {
	var all []scoring.Endpoint
	for _, e := range endpoints {
		all = append(all, plantest.Labelled("pintle.dev/quality-score", e.quality, "pintle.dev/prompt-per-1m", e.cost))
	}
	c := plantest.Cycle(plantest.Pool(all...), 1)
	c.Pool.State = state.New(plan.StateOptions())
	c.Pool.Enter()
	lease := uint32(0)
	for i, e := range endpoints {
		id := c.Pool.ID(&c.Pool.Endpoints[i])
		for range e.inFlight {
			lease++
			c.Pool.State.Apply(&journal.Event{Kind: journal.Decision, Time: plantest.Now, Instance: 1, Lease: lease,
				Primary: id})
		}
		if e.ttftMicros > 0 {
			c.Pool.State.Apply(&journal.Event{Kind: journal.Completion, Time: plantest.Now, Primary: id, Status: 200,
				TTFTMicros: e.ttftMicros})
		}
	}
	return c
}

// labels are what may stand in one.
var labels = []string{"", "0.5", "5", ".5", "5.", ".", "1.2.3", "1e9", "NaN", "Inf", "0x1p-2", "1_0", "\u0661",
	strings.Repeat("9", 400)}

func TestMultiFactorScorerDoesNotAllocate(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "multi-factor-scorer"}]}`, plantest.Neutral)
	for _, text := range labels[:len(labels)-1] {
		c := ratedCycle(plan, []rated{{quality: text, cost: "1", inFlight: 2, ttftMicros: 5},
			{quality: "1", cost: text}})
		if n := testing.AllocsPerRun(20, func() { plan.Decide(c) }); n != 0 {
			t.Errorf("label %q: a decision allocates %v times, want 0", text, n)
		}
	}
}

// FuzzMultiFactorLabel: whatever a label holds, scores are within range.
func FuzzMultiFactorLabel(f *testing.F) {
	for _, text := range labels {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plan := plantest.Plan(t, `{"plugins": [{"type": "multi-factor-scorer"}]}`, plantest.Neutral)
		c := ratedCycle(plan, []rated{{quality: text, cost: "1"}, {quality: "1", cost: text},
			{quality: "0.25", cost: "2"}})
		for name, score := range plantest.Decide(plan, c).Scores["multi-factor-scorer"] {
			if !(score >= 0 && score <= 1) {
				t.Errorf("%s scores %v, want 0 to 1", name, score)
			}
		}
	})
}
