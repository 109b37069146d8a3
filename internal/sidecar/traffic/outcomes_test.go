package traffic

import (
	"fmt"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// toldOf is what is told of an answer: how often, but for compared, which are tokens.
type toldOf struct {
	// first is the time to the first token of a stream, whole that of another answer under llm-d's names, reported
	// are the tokens of a prompt.
	first, whole, duration, perToken, normalized, reported int
	compared                                               int
}

// TestTimesOfAnswers: which answers' times and cached tokens are told, under both names. An answer is that of
// fixture.decide but for what a case changes.
func TestTimesOfAnswers(t *testing.T) {
	const of = `,model_name="m1",priority="0",`
	for _, test := range []struct {
		name   string
		change func(e *journal.Event)
		want   toldOf
	}{
		{"stream", func(*journal.Event) {},
			toldOf{first: 1, duration: 1, perToken: 1, normalized: 1, reported: 1, compared: 16}},
		{"stream that its client ended", func(e *journal.Event) { e.Ended = journal.EndedClient },
			toldOf{first: 1, reported: 1, compared: 16}},
		{"no stream", func(e *journal.Event) { e.Streamed = false },
			toldOf{whole: 1, duration: 1, normalized: 1, reported: 1, compared: 16}},
		{"no stream, ended by its client",
			func(e *journal.Event) { e.Streamed, e.Ended = false, journal.EndedClient },
			toldOf{reported: 1, compared: 16}},
		{"one token", func(e *journal.Event) { e.OutputTokens = 1 },
			toldOf{first: 1, duration: 1, normalized: 1, reported: 1, compared: 16}},
		{"no token", func(e *journal.Event) { e.OutputTokens = 0 },
			toldOf{first: 1, duration: 1, reported: 1, compared: 16}},
		{"all at once", func(e *journal.Event) { e.DurationMicros = e.TTFTMicros },
			toldOf{first: 1, duration: 1, normalized: 1, reported: 1, compared: 16}},
		{"no byte", func(e *journal.Event) { e.TTFTMicros = 0 },
			toldOf{duration: 1, normalized: 1, reported: 1, compared: 16}},
		{"nothing predicted", func(e *journal.Event) { e.Predicted = false },
			toldOf{first: 1, duration: 1, perToken: 1, normalized: 1, reported: 1}},
		{"nothing said of caches", func(e *journal.Event) { e.CachedReported = false },
			toldOf{first: 1, duration: 1, perToken: 1, normalized: 1, reported: 1}},
		{"no report", func(e *journal.Event) { e.UsageReported, e.CachedReported = false, false },
			toldOf{first: 1, duration: 1, perToken: 1, normalized: 1}},
		{"server's error", func(e *journal.Event) { e.Code, e.Status = 500, 500 }, toldOf{}},
		{"client's error", func(e *journal.Event) { e.Code, e.Status = 400, 400 }, toldOf{}},
		{"no answer", func(e *journal.Event) { e.Code, e.Status, e.Ended = 0, 0, journal.EndedClient }, toldOf{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			answered := func(llmD bool) *fixture {
				f := newFixture(t, llmD)
				e := f.decide("m1", "vllm-0")
				test.change(&e)
				f.take(e, false)
				return f
			}
			own := answered(false)
			own.wantCounts(`pintle_%s{model="m1"}`, map[string]int{
				"time_to_first_token_seconds_count":   test.want.first,
				"request_duration_seconds_count":      test.want.duration,
				"time_per_output_token_seconds_count": test.want.perToken,
				"compared_cached_tokens_total":        test.want.compared,
			})
			llmD := answered(true)
			llmD.wantCounts(`llm_d_epp_request_%s{fairness_id="default-flow"`+of+`target_model_name="m1"}`,
				map[string]int{
					"duration_seconds_count":       test.want.duration,
					"streaming_tpot_seconds_count": test.want.perToken,
					"ntpot_seconds_count":          test.want.normalized,
					"input_tokens_count":           test.want.reported,
				})
			llmD.wantCounts(`llm_d_epp_request_ttft_seconds_count{fairness_id="default-flow"`+of+
				`streaming="%s",target_model_name="m1"}`,
				map[string]int{"true": test.want.first, "false": test.want.whole})
		})
	}
}

// TestLengthsOfAnswers: an answer of which no token is known has no length.
func TestLengthsOfAnswers(t *testing.T) {
	for tokens, want := range map[uint32]int{0: 0, 1: 1, 11: 1} {
		f := newFixture(t, true)
		e := f.decide("m1", "vllm-0")
		e.OutputTokens = tokens
		f.take(e, false)
		f.wantCounts(`llm_d_epp_request_%s{fairness_id="default-flow",model_name="m1",priority="0",`+
			`target_model_name="m1"}`, map[string]int{"output_tokens_count": want, "output_tokens_sum": int(tokens)})
	}
}

// wantCounts wants values of series whose names are made by a format. Where nothing is counted none need be there.
func (f *fixture) wantCounts(format string, counts map[string]int) {
	f.t.Helper()
	for name, want := range counts {
		if got := f.value(fmt.Sprintf(format, name)); got != float64(want) {
			f.t.Errorf("%s: got %v, want %d", fmt.Sprintf(format, name), got, want)
		}
	}
}

// TestMispredictedEitherWay: what was thought to be cached and was not counts as what was cached and not thought to be.
func TestMispredictedEitherWay(t *testing.T) {
	f := newFixture(t, false)
	for _, cached := range []uint32{16, 3} {
		e := f.decide("m1", "vllm-0") // 10 are predicted
		e.CachedTokens = cached
		f.take(e, false)
	}
	f.want(`pintle_mispredicted_cached_tokens_total{model="m1"} 13`)
}

// TestLLMDCodes: what llm-d calls the refusals.
func TestLLMDCodes(t *testing.T) {
	for _, test := range []struct {
		name string
		code uint16
	}{
		{"BadRequest", 400}, {"BadRequest", 404}, {"PreconditionFailed", 412}, {"ResourceExhausted", 429},
		{"Internal", 500}, {"ServiceUnavailable", 503}, {"Internal", 504}, {"Unknown", 399},
	} {
		f := newFixture(t, true)
		f.take(journal.Event{Kind: journal.Refused, Code: test.code, Model: journal.HashName("m1")}, false)
		f.want(`llm_d_epp_request_error_total{error_code="` + test.name + `",fairness_id="default-flow",` +
			`model_name="m1",priority="0",target_model_name="m1"} 1`)
	}
}

// TestInFlightByModel: each model's requests are its own, however many of another's came before.
func TestInFlightByModel(t *testing.T) {
	for name, test := range map[string]struct {
		llmD   bool
		metric string
	}{
		"own":   {false, "pintle_model_requests_in_flight{model="},
		"llm-d": {true, "inference_objective_running_requests{model_name="},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, test.llmD)
			for _, model := range []string{"m1", "m1", "m1", "m0"} {
				f.decide(model, "vllm-0")
			}
			f.want(test.metric+`"m1"} 3`, test.metric+`"m0"} 1`)
		})
	}
}

// TestInFlightEndsWithTime: a request of which nobody says that it ended is in flight no more in the end, whether there
// is traffic or not: a sidecar that is told to end waits for those that are.
func TestInFlightEndsWithTime(t *testing.T) {
	for _, test := range []struct {
		name string
		hear func(f *fixture)
	}{
		{"as it is sampled", func(f *fixture) { f.Sample(nil, &config.Metrics{QueueDepth: 5, KVUsage: 0.8}) }},
		{"as an Envoy answers", func(f *fixture) { f.Caught("gateway", journal.Position{}) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, false)
			f.decide("m1", "vllm-0")
			for _, step := range []struct {
				passed time.Duration
				want   int
			}{{requestTimeout - 1, 1}, {1, 0}} {
				f.now = f.now.Add(step.passed)
				if test.hear(f); f.InFlight() != step.want {
					t.Errorf("%v later: %d are in flight, want %d", step.passed, f.InFlight(), step.want)
				}
			}
		})
	}
}

// TestModelsInFlightAreBounded: of more models than the journal tells names of, and of many requests for each, the
// first models are counted.
func TestModelsInFlightAreBounded(t *testing.T) {
	f := newFixture(t, false)
	var models []string
	for i := range 2 * state.MaxModels {
		models = append(models, fmt.Sprint("model ", i))
	}
	f.names = follow.NamesOf(map[journal.NameKind][]string{journal.ModelName: models}, []string{"vllm-0"})
	for _, model := range append(models, models...) {
		f.decide(model, "vllm-0")
	}
	if n := len(f.Traffic.models); n != state.MaxModels {
		t.Errorf("the requests in flight of %d models are counted, want %d", n, state.MaxModels)
	}
	f.want(`pintle_model_requests_in_flight{model="model 0"} 2`,
		fmt.Sprintf(`pintle_model_requests_in_flight{model="model %d"} 2`, state.MaxModels-1))
}

// TestEndpointThatCameBackStays: an endpoint that left for a short time keeps its series, and its name, for good.
func TestEndpointThatCameBackStays(t *testing.T) {
	f := newFixture(t, false)
	f.take(f.decide("m1", "vllm-0"), false)
	f.SetEndpoints([]string{"vllm-1"})
	f.now = f.now.Add(leftGrace / 2)
	f.SetEndpoints([]string{"vllm-0", "vllm-1"})
	f.now = f.now.Add(leftGrace)
	f.page()
	f.take(f.decide("m1", "vllm-0"), false)
	f.want(`pintle_requests_total{endpoint="vllm-0",model="m1",status="200"} 2`)
}

// TestEndpointThatLeftIsOther: what comes of an endpoint that left long ago has no series of its own again.
func TestEndpointThatLeftIsOther(t *testing.T) {
	f := newFixture(t, false)
	last := f.decide("m1", "vllm-0")
	f.SetEndpoints([]string{"vllm-1"})
	f.now = f.now.Add(leftGrace)
	f.page()
	f.take(last, false)
	f.want(`pintle_requests_total{endpoint="other",model="m1",status="200"} 1`)
}
