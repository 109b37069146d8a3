package traffic

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/snapshot"
	"github.com/pintle-dev/pintle/state"
)

// fixture is a Traffic with a pool of two endpoints, whose events the test makes.
type fixture struct {
	*Traffic
	t        testing.TB
	registry *prometheus.Registry
	names    *follow.Names
	now      time.Time
	lease    uint32
	// generation is the pool.
	generation *pool.Generation
}

func newFixture(t testing.TB, llmD bool) *fixture { return newFixtureWith(t, Options{LLMD: llmD}) }

func newFixtureWith(t testing.TB, o Options) *fixture {
	f := &fixture{Traffic: New(o), t: t, registry: prometheus.NewRegistry(), now: time.Unix(1_800_000_000, 0)}
	f.Traffic.now = func() time.Time { return f.now }
	f.Register(f.registry, func() *pool.Generation { return f.generation },
		&config.Metrics{QueueDepth: 5, KVUsage: 0.8})
	f.SetEndpoints([]string{"vllm-0", "vllm-1"})
	f.names = follow.NamesOf(map[journal.NameKind][]string{
		journal.ModelName: {"m1",
			"m0"}, journal.ProfileName: {"default"}, journal.ReasonName: {"shed"},
		journal.PluginName: {"queue-scorer", "stale"}, journal.FairnessName: {"tenant"},
	}, []string{"vllm-0", "vllm-1", "gone"})
	return f
}

func (f *fixture) take(e journal.Event, old bool) {
	e.Time = f.now.UnixNano()
	f.Take(&follow.Event{Event: &e, Envoy: "gateway", Names: f.names, Old: old})
}

// decide takes a decision for an endpoint and returns its completion, with one second to the first token.
func (f *fixture) decide(model, endpoint string) journal.Event {
	f.lease++
	hash, id := journal.HashName(model), journal.EndpointID(endpoint)
	f.take(journal.Event{
		Kind: journal.Decision, Instance: 1, Lease: f.lease, Model: hash, Asked: hash, Primary: id,
		Profile:  journal.HashName("default"),
		Streamed: true, Cold: true, Predicted: true, PredictedTokens: 10,
	}, false)
	return journal.Event{
		Kind: journal.Completion, Instance: 1, Lease: f.lease, Model: hash, Asked: hash, Primary: id,
		Profile:  journal.HashName("default"),
		Streamed: true, Code: 200, Status: 200, Ended: journal.EndedWhole, UsageReported: true, CachedReported: true,
		Predicted: true, PredictedTokens: 10,
		InputTokens: 100, OutputTokens: 11, CachedTokens: 16, TTFTMicros: 1_000_000, DurationMicros: 2_000_000,
	}
}

// page is the metrics as text.
func (f *fixture) page() string {
	f.t.Helper()
	families, err := f.Gatherer(f.registry).Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	var text strings.Builder
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			f.t.Fatal(err)
		}
	}
	return text.String()
}

func (f *fixture) want(lines ...string) {
	f.t.Helper()
	page := f.page()
	for _, line := range lines {
		if !strings.Contains(page, line+"\n") {
			f.t.Errorf("no line %q in\n%s", line, page)
		}
	}
}

func TestMetrics(t *testing.T) {
	f := newFixture(t, false)
	whole := f.decide("m1", "vllm-0")
	f.want(`pintle_model_requests_in_flight{model="m1"} 1`)
	f.take(whole, false)
	aborted := f.decide("m1", "vllm-1")
	aborted.Code, aborted.Ended, aborted.UsageReported, aborted.CachedReported, aborted.OutputTokens = 200,
		journal.EndedClient, false, false, 3
	f.take(aborted, false)
	left := f.decide("unheard of", "gone")
	left.Code, left.Ended, left.UsageReported, left.CachedReported, left.OutputTokens = 0, journal.EndedClient, false,
		false, 0
	f.take(left, false)
	counted := f.decide("m1", "vllm-0")
	f.take(counted, true)
	f.take(journal.Event{Kind: journal.Refused, Code: 429, Reason: journal.HashName("shed")}, false)
	f.want(
		`pintle_requests_total{endpoint="vllm-0",model="m1",status="200"} 1`,
		`pintle_requests_total{endpoint="vllm-1",model="m1",status="200"} 1`,
		`pintle_requests_total{endpoint="other",model="other",status="none"} 1`,
		`pintle_broken_answers_total{endpoint="vllm-1",model="m1"} 0`,
		`pintle_refusals_total{reason="shed"} 1`,
		`pintle_input_tokens_total{endpoint="vllm-0",model="m1"} 100`,
		`pintle_output_tokens_total{endpoint="vllm-0",model="m1"} 11`,
		`pintle_cached_tokens_total{endpoint="vllm-0",model="m1"} 16`,
		`pintle_unreported_output_tokens_total{endpoint="vllm-1",model="m1"} 3`,
		`pintle_predicted_cached_tokens_total{model="m1"} 10`, `pintle_compared_cached_tokens_total{model="m1"} 16`,
		`pintle_mispredicted_cached_tokens_total{model="m1"} 6`,
		`pintle_time_to_first_token_seconds_sum{model="m1"} 2`,
		`pintle_time_to_first_token_seconds_count{model="m1"} 2`,
		`pintle_time_per_output_token_seconds_sum{model="m1"} 0.1`,
		`pintle_time_per_output_token_seconds_count{model="m1"} 1`,
		`pintle_request_duration_seconds_sum{model="m1"} 2`, `pintle_request_duration_seconds_count{model="m1"} 1`,
		`pintle_model_requests_in_flight{model="m1"} 0`,
	)
}

// TestBrokenAnswers: of answers that began well those are counted apart that broke off, whoever ended them but their
// clients.
func TestBrokenAnswers(t *testing.T) {
	tests := []struct {
		name  string
		code  uint16
		ended journal.Ending
		want  int
	}{
		{"whole", 200, journal.EndedWhole, 0},
		{"the server ended", 200, journal.EndedReset, 1},
		{"it took too long", 200, journal.EndedTimeout, 1},
		{"the client left", 200, journal.EndedClient, 0},
		{"not reached", 503, journal.EndedUnreached, 0},
		{"too late to begin", 504, journal.EndedTimeout, 0},
		{"the last status that is good", 299, journal.EndedReset, 1},
		{"sent elsewhere", 300, journal.EndedReset, 0},
		{"a status below", 199, journal.EndedReset, 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, false)
			e := f.decide("m1", "vllm-0")
			e.Code, e.Ended = tc.code, tc.ended
			f.take(e, false)
			f.want(fmt.Sprintf(`pintle_broken_answers_total{endpoint="vllm-0",model="m1"} %d`, tc.want))
		})
	}
}

// TestModelsThatGetTheirNamesLate: what is in flight of a model is told once its name is, however many others never get
// one.
func TestModelsThatGetTheirNamesLate(t *testing.T) {
	for name, test := range map[string]struct {
		llmD bool
		want string
	}{
		"own":   {false, `pintle_model_requests_in_flight{model="m1"} 1`},
		"llm-d": {true, `inference_objective_running_requests{model_name="m1"} 1`},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, test.llmD)
			known := f.names
			f.names = &follow.Names{}
			f.take(f.decide("m1", "vllm-0"), false)
			for i := range 2 * state.MaxModels {
				f.take(f.decide(fmt.Sprint("invented-", i), "vllm-0"), false)
			}
			f.names = known
			f.decide("m1", "vllm-0")
			f.want(test.want)
		})
	}
}

// TestShadowMetrics: how often a shadow agrees, and what is believed of both choices.
func TestShadowMetrics(t *testing.T) {
	for _, llmD := range []bool{false, true} {
		f := newFixture(t, llmD)
		zero, one := journal.EndpointID("vllm-0"), journal.EndpointID("vllm-1")
		for _, e := range []journal.Event{
			{Kind: journal.Decision, Primary: zero},
			{Kind: journal.Decision, Primary: zero, Shadowed: journal.Shadowed{Decided: true, Primary: zero,
				Cached: 1, ActingCached: 2, Load: 3, ActingLoad: 4}},
			{Kind: journal.Decision, Primary: zero, Shadowed: journal.Shadowed{Decided: true, Primary: one,
				Cached: 10, ActingCached: 20, Load: 30, ActingLoad: 40}},
			{Kind: journal.Decision, Primary: zero, Shadowed: journal.Shadowed{Decided: true}},
			{Kind: journal.Refused, Code: 429, Shadowed: journal.Shadowed{Decided: true, Primary: one}},
			{Kind: journal.Refused, Code: 429, Shadowed: journal.Shadowed{Decided: true}},
			{Kind: journal.Refused, Code: 429},
		} {
			f.take(e, false)
		}
		f.want(
			`pintle_shadow_decisions_total{result="agreed"} 2`, `pintle_shadow_decisions_total{result="differed"} 1`,
			`pintle_shadow_decisions_total{result="refused"} 1`, `pintle_shadow_decisions_total{result="admitted"} 1`,
			`pintle_shadow_cached_tokens_total{plan="shadow"} 11`,
			`pintle_shadow_cached_tokens_total{plan="acting"} 22`,
			`pintle_shadow_load_total{plan="shadow"} 33`, `pintle_shadow_load_total{plan="acting"} 44`,
		)
		var shown []string
		for _, d := range f.Decisions(0).Decisions { // the last one first
			shown = append(shown, d.Shadow)
		}
		if got := strings.Join(shown, ","); got != ",,vllm-1,refused,vllm-1,," {
			t.Errorf("the decisions have the shadow's choices %s", got)
		}
	}
}

func TestHistogramsAreNativeToo(t *testing.T) {
	f := newFixture(t, false)
	f.take(f.decide("m1", "vllm-0"), false)
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if h := family.GetMetric()[0].GetHistogram(); h != nil &&
			(h.Schema == nil || len(h.GetPositiveSpan()) == 0 || len(h.GetBucket()) == 0) {
			t.Errorf("%s: got %v, want classic and native buckets", family.GetName(), h)
		}
	}
}

// TestSeriesAreBounded has more models, endpoints and statuses than are told apart.
func TestSeriesAreBounded(t *testing.T) {
	f := newFixture(t, false)
	var endpoints []string
	for i := range 300 {
		endpoints = append(endpoints, fmt.Sprint("e", i))
	}
	f.SetEndpoints(endpoints)
	f.names = follow.NamesOf(nil, endpoints)
	for i := range 300 {
		for code := range uint16(20) {
			e := f.decide(fmt.Sprint("model ", i), endpoints[i])
			e.Code = 500 + code
			f.take(e, false)
		}
	}
	if n := strings.Count(f.page(), "\npintle_requests_total{"); n > mostRoutes+20 {
		t.Errorf("got %d series, want %d at most", n, mostRoutes+20)
	}
}

func TestSeriesOfEndpointsThatLeftAreDropped(t *testing.T) {
	f := newFixture(t, false)
	f.take(f.decide("m1", "vllm-0"), false)
	f.SetEndpoints([]string{"vllm-1"})
	f.now = f.now.Add(leftGrace / 2)
	f.take(f.decide("m1", "vllm-0"), false)
	f.want(`pintle_requests_total{endpoint="vllm-0",model="m1",status="200"} 2`)
	f.now = f.now.Add(leftGrace)
	if page := f.page(); strings.Contains(page, "vllm-0") {
		t.Errorf("the endpoint that left is still there:\n%s", page)
	}
	f.SetEndpoints([]string{"vllm-0"})
	f.take(f.decide("m1", "vllm-0"), false)
	f.want(`pintle_requests_total{endpoint="vllm-0",model="m1",status="200"} 1`) // it came back, and counts anew
}

// TestPositionToldIsThatOfTheMetrics: what came after the metrics were read is for the next process, and what came
// before is not, also in the middle of an answer of Envoy.
func TestPositionToldIsThatOfTheMetrics(t *testing.T) {
	f := newFixture(t, false)
	at := journal.Position{Epoch: 1, Seq: 5}
	f.Caught("gateway", at)
	if got := f.Told("gateway"); got != (journal.Position{}) {
		t.Errorf("before anybody read: got %v, want nothing", got)
	}
	f.page()
	f.Caught("gateway", journal.Position{Epoch: 1, Seq: 9})
	if got := f.Told("gateway"); got != at {
		t.Errorf("got %v, want %v", got, at)
	}
	f.Take(&follow.Event{Event: &journal.Event{Kind: journal.Completion, Instance: 1, Code: 200}, Envoy: "gateway",
		Names: f.names, At: journal.Position{Epoch: 1, Seq: 12}})
	f.page()
	if got := f.Told("gateway"); got.Epoch != 1 || got.Seq != 13 {
		t.Errorf("in the middle of an answer: got %v, want what is behind the event 12", got)
	}
}

func TestPlots(t *testing.T) {
	f := newFixture(t, false)
	for range 10 {
		f.take(f.decide("m1", "vllm-0"), false)
	}
	f.decide("m1", "vllm-0")
	g := &pool.Generation{Topology: &snapshot.Topology{}, Targets: []*pool.Target{{Name: "vllm-0",
		Pool: topology.DefaultPool}}}
	f.Sample(g, &config.Metrics{QueueDepth: 5, KVUsage: 0.8})
	got := f.Plots()
	last := plotPoints - 1
	if len(got.Requests) != plotPoints || *got.Requests[last] != 2 || *got.HitRate[last] != 0.16 ||
		*got.Expected[last] != 0.1 || *got.InFlight["vllm-0"][last] != 1 {
		t.Errorf("got %v requests/s, hit rate %v, expected %v, %v in flight, want 2, 0.16, 0.1 and 1",
			*got.Requests[last], *got.HitRate[last], *got.Expected[last], *got.InFlight["vllm-0"][last])
	}
	if ttft := *got.TTFT50[last]; ttft < 950 || ttft > 1050 {
		t.Errorf("got %v ms, want 1000 within a class", ttft)
	}
	if got.Waiting["vllm-0"][last] != nil || got.TTFT90[0] != nil {
		t.Error("what is not known is plotted")
	}
	f.now = f.now.Add(plotStep * plotPoints)
	if got := f.Plots(); *got.Requests[0] != 0 {
		t.Errorf("got %v requests/s a quarter of an hour later, want 0", *got.Requests[0])
	}
}
