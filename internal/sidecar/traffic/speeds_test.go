package traffic

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// answer takes n requests to an endpoint of which 2,000 tokens have to be computed, and their answers: the first token
// after a second, ten more within another.
func (f *fixture) answer(n int, endpoint string) {
	for range n {
		e := journal.Event{Kind: journal.Decision, Instance: 1, Model: journal.HashName("m1"),
			Primary: journal.EndpointID(endpoint), Streamed: true, PrimaryLoad: 2000, InputTokens: 2500}
		f.lease++
		e.Lease = f.lease
		f.take(e, false)
		f.now = f.now.Add(time.Second)
		e.Kind, e.Status, e.TTFTMicros = journal.Began, 200, 1_000_000
		f.take(e, false)
		f.now = f.now.Add(time.Second)
		e.Kind, e.Code, e.Ended, e.OutputTokens = journal.Completion, 200, journal.EndedWhole, 11
		e.DurationMicros = 2_000_000
		f.take(e, false)
	}
}

// TestSpeedMetrics: what the journal tells of endpoints' speeds is told, where anything was predicted.
func TestSpeedMetrics(t *testing.T) {
	f := newFixture(t, false)
	if _, ok := f.Speed("vllm-0"); ok {
		t.Error("an endpoint without answers has a speed")
	}
	f.answer(60, "vllm-0")
	s, ok := f.Speed("vllm-0")
	for _, v := range []struct {
		name      string
		got, want float64
	}{
		{"tokens a second", s.PromptTokensPerSecond, 2000}, {"TTFT predicted", s.TTFT.Predicted, 1},
		{"TTFT", s.TTFT.Actual, 1}, {"TPOT predicted", s.TPOT.Predicted, 0.1}, {"TPOT", s.TPOT.Actual, 0.1},
	} {
		if !ok || !(math.Abs(v.got-v.want) <= 0.25*v.want) {
			t.Errorf("%s: got %v, want %v", v.name, v.got, v.want)
		}
	}
	f.want(`pintle_actual_time_to_first_token_seconds{endpoint="vllm-0"} 1`)
	if _, ok := f.Speed("vllm-1"); ok {
		t.Error("an endpoint for which nothing was predicted has a speed")
	}
}

// TestPredictedByLLMDNames: a prediction is counted with its decision, once something was learnt.
func TestPredictedByLLMDNames(t *testing.T) {
	const of = `{model_name="m1",plugin_name="predicted-latency-producer",plugin_type="predicted-latency-producer",` +
		`target_model_name="m1"}`
	f := newFixture(t, true)
	f.answer(1, "vllm-0")
	if page := f.page(); strings.Contains(page, "llm_d_epp_request_predicted_ttft_seconds_count"+of+" 1") {
		t.Error("something was predicted before anything was learnt")
	}
	f.answer(60, "vllm-0")
	for _, m := range []struct {
		name string
		want float64
	}{{"llm_d_epp_request_predicted_ttft_seconds", 1}, {"llm_d_epp_request_predicted_tpot_seconds", 0.1}} {
		count, sum := f.value(m.name+"_count"+of), f.value(m.name+"_sum"+of)
		if count < 40 || !(math.Abs(sum/count-m.want) <= 0.25*m.want) {
			t.Errorf("%s: %v in %v samples, want %v in the mean", m.name, sum, count, m.want)
		}
	}
}

// value is what the page has for a series.
func (f *fixture) value(series string) float64 {
	for _, line := range strings.Split(f.page(), "\n") {
		if text, ok := strings.CutPrefix(line, series+" "); ok {
			v, _ := strconv.ParseFloat(text, 64)
			return v
		}
	}
	return 0
}
