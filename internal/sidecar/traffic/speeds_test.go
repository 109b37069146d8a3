package traffic

import (
	"math"
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
		if !ok || math.Abs(v.got-v.want) > 0.25*v.want {
			t.Errorf("%s: got %v, want %v", v.name, v.got, v.want)
		}
	}
	f.want(`pintle_actual_time_to_first_token_seconds{endpoint="vllm-0"} 1`)
	if _, ok := f.Speed("vllm-1"); ok {
		t.Error("an endpoint for which nothing was predicted has a speed")
	}
}
