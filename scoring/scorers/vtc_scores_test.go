package scorers_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestVTCBasicDefaults: what is kept of users, and how their tokens count, unless the parameters say otherwise.
func TestVTCBasicDefaults(t *testing.T) {
	for _, tc := range []struct {
		name, parameters string
		window           time.Duration
		users            int
		input, output    float64
		most             float64
		outputs          bool
	}{
		{"by default", `{}`, 5 * time.Minute, 4096, 1, 2, 8000, true},
		{"by the source", `{"semantics": "source"}`, 5 * time.Minute, 4096, 1, 2, 8000, false},
		{"given", `{"timeUnit": "seconds", "windowSize": 7, "maxUsers": 3, "inputTokenWeight": 4, "outputTokenWeight": 5,
			"maxTokens": 6}`, 7 * time.Second, 3, 4, 5, 6, true},
		{"in milliseconds", `{"timeUnit": "milliseconds", "windowSize": 1500, "maxTokens": 0}`, 1500 * time.Millisecond,
			4096, 1, 2, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := plantest.Plan(t, `{"plugins": [{"type": "vtc-basic", "parameters": `+tc.parameters+`}]}`,
				plantest.Neutral).StateOptions()
			if o.TokenWindow != tc.window || o.TokenUsers != tc.users || o.TokenInputWeight != tc.input ||
				o.TokenOutputWeight != tc.output || o.TokenRequestMost != tc.most || o.Outputs != tc.outputs {
				t.Errorf("options %+v, want a window of %v, %d users, weights %v and %v, at most %v, outputs: %v",
					o, tc.window, tc.users, tc.input, tc.output, tc.most, tc.outputs)
			}
		})
	}
}

// TestVTCBasicBounds: what is out of bounds is said by its key.
func TestVTCBasicBounds(t *testing.T) {
	const whole = " is not a whole number from "
	for _, tc := range []struct{ key, value, want string }{
		{"windowSize", "1000000", ""}, {"windowSize", "1000001", "1000001" + whole + "1 to 1000000"},
		{"maxUsers", "1", ""}, {"maxUsers", "0", "0" + whole + "1 to 65536"},
		{"maxUsers", "65536", ""}, {"maxUsers", "65537", "65537" + whole + "1 to 65536"},
		{"minTokens", "0", ""}, {"minTokens", "-1", "-1 is not a number from 0 to 1e+12"},
		{"maxPodLoad", "0.5", ""}, {"utilizationWeight", "1e12", ""},
		{"utilizationWeight", "2e12", "2e12 is not a number from 0 to 1e+12"},
	} {
		t.Run(tc.key+" "+tc.value, func(t *testing.T) {
			if tc.want != "" {
				tc.want = at("vtc-basic", tc.key+": "+tc.want)
			}
			plantest.CheckTold(t, `{"plugins": [{"type": "vtc-basic", "parameters": {"`+tc.key+`": `+tc.value+`}}]}`,
				tc.want, "")
		})
	}
}

// TestVTCBasicNoPodLoad: a load that is full with nothing is said by what gives it, be it a parameter or a variable.
func TestVTCBasicNoPodLoad(t *testing.T) {
	const variable, why = "AIBRIX_ROUTER_VTC_BASIC_MAX_POD_LOAD", "it divides the load, so give a number above 0"
	for _, tc := range []struct{ name, parameters, environment, want string }{
		{"a parameter", `"maxPodLoad": 0`, "", at("vtc-basic", "maxPodLoad: is 0; "+why)},
		{"a parameter before a variable", `"maxPodLoad": 0`, "5", at("vtc-basic", "maxPodLoad: is 0; "+why)},
		{"a variable", ``, "0", at("vtc-basic", ": the environment variable "+variable+" is 0; "+why)},
		{"a variable behind a parameter", `"maxPodLoad": 5`, "0", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plantest.MistakesIn(`{"plugins": [{"type": "vtc-basic", "parameters": {`+tc.parameters+`}}]}`,
				map[string]string{variable: tc.environment})
			if got != tc.want {
				t.Errorf("mistakes:\n%s\nwant:\n%s", got, tc.want)
			}
		})
	}
}

// TestVTCBasicByLoad: without a user the score is by the load alone: requests in flight or, if there are more, those
// that a fresh sample says to run.
func TestVTCBasicByLoad(t *testing.T) {
	running := func(age time.Duration, n int) scoring.Endpoint {
		return plantest.Aged(age, scoring.Metrics{RunningRequests: n})
	}
	for _, tc := range []struct {
		name, parameters string
		endpoints        []scoring.Endpoint // the first one has 50 requests in flight
		want             []float64
	}{
		{"in flight", `{}`, []scoring.Endpoint{{}, {}}, []float64{0.75, 1}},
		{"more run", `{}`, []scoring.Endpoint{running(0, 80), running(0, 20)}, []float64{0.6, 0.9}},
		{"fewer run", `{}`, []scoring.Endpoint{running(0, 20), running(0, 0)}, []float64{0.75, 1}},
		{"more ran", `{}`, []scoring.Endpoint{running(time.Minute, 80), running(time.Minute, 20)}, []float64{0.75, 1}},
		{"a full load", `{"maxPodLoad": 50}`, []scoring.Endpoint{{}, running(0, 25)}, []float64{0.5, 0.75}},
		{"more than full", `{"maxPodLoad": 10}`, []scoring.Endpoint{{}, running(0, 10)}, []float64{0.5, 0.5}},
		{"other weights", `{"fairnessWeight": 3}`, []scoring.Endpoint{{}, {}}, []float64{0.875, 1}},
		{"small weights", `{"fairnessWeight": 0, "utilizationWeight": 0.5}`, []scoring.Endpoint{{}, {}}, []float64{0.5, 1}},
		{"no weights", `{"fairnessWeight": 0, "utilizationWeight": 0}`, []scoring.Endpoint{{}, {}}, []float64{1, 1}},
		{"by the source", `{"semantics": "source"}`, []scoring.Endpoint{{}, {}}, []float64{1, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRouter(t, `{"plugins": [{"type": "vtc-basic", "parameters": `+tc.parameters+`}]}`, tc.endpoints...)
			r.load("a", 50)
			r.cycle.Request.Headers = plantest.Headers(r.plan, nil)
			if got := r.scores("vtc-basic"); !slices.EqualFunc(got, tc.want, near) {
				t.Errorf("scores %v, want %v", got, tc.want)
			}
		})
	}
}

// TestVTCBasicBuckets: the scores of two endpoints for a user who was served so many tokens beside one with 100. The
// bucket is 1,000 tokens, unless the parameter says another number, or one below the mean.
func TestVTCBasicBuckets(t *testing.T) {
	for _, tc := range []struct {
		name, parameters    string
		tokens              uint32
		bucket, most, share float64
	}{
		{"by default", `{}`, 400, 1000, 400, 0.2},
		{"the mean", `{"minTokens": 0}`, 400, 250, 400, 0.8},
		{"just above", `{"minTokens": 260}`, 400, 260, 400, 10. / 13},
		{"much above", `{"minTokens": 4000}`, 400, 4000, 400, 0.05},
		{"more than one request adds to the range", `{}`, 20_000, 4050, 8000, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRouter(t, `{"plugins": [{"type": "vtc-basic", "parameters": `+tc.parameters+`}]}`,
				make([]scoring.Endpoint, 2)...)
			r.cycle.Pool.State.Tokens.Serve(journal.HashName("heavy"), plantest.Now, tc.tokens, 0)
			r.cycle.Pool.State.Tokens.Serve(journal.HashName("light"), plantest.Now, 50, 25)
			r.cycle.Request.Headers = plantest.Headers(r.plan, map[string]string{"user": "heavy"})
			inequality := (tc.most - 100) / tc.bucket / 2
			want := []float64{1 - inequality*tc.share/2, 1 - inequality*(1-tc.share)/2}
			if got := r.scores("vtc-basic"); !slices.EqualFunc(got, want, near) {
				t.Errorf("scores %v, want %v", got, want)
			}
		})
	}
}

// TestVTCBasicNobodyBesideUsers: a request without a user is placed by the load alone, however unlike users are.
func TestVTCBasicNobodyBesideUsers(t *testing.T) {
	r := newRouter(t, `{"plugins": [{"type": "vtc-basic"}]}`, make([]scoring.Endpoint, 2)...)
	r.cycle.Pool.State.Tokens.Serve(journal.HashName("heavy"), plantest.Now, 8000, 0)
	r.cycle.Pool.State.Tokens.Serve(journal.HashName("light"), plantest.Now, 100, 0)
	r.load("a", 50)
	r.cycle.Request.Headers = plantest.Headers(r.plan, nil)
	if got, want := r.scores("vtc-basic"), []float64{0.75, 1}; !slices.EqualFunc(got, want, near) {
		t.Errorf("scores %v, want %v", got, want)
	}
}

// TestVTCBasicBeforeAnyAnswer: as long as no user was served the load decides; by the source, the bucket is the
// mean of both parameters then.
func TestVTCBasicBeforeAnyAnswer(t *testing.T) {
	for _, tc := range []struct {
		name, parameters string
		want             []float64
	}{
		{"by default", `{}`, []float64{1 - 0.01/2, 1 - 0.01/2}},
		{"by the source", `{"semantics": "source"}`,
			[]float64{1 - (4000./4500+0.01)/2, 1 - (1-4000./4500+0.01)/2}},
		{"by the source, given", `{"semantics": "source", "minTokens": 3000, "maxTokens": 7000}`,
			[]float64{1 - (4000./5000+0.01)/2, 1 - (1-4000./5000+0.01)/2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRouter(t, `{"plugins": [{"type": "vtc-basic", "parameters": `+tc.parameters+`}]}`,
				make([]scoring.Endpoint, 2)...)
			r.load("b", 1)
			// 1,000 tokens of input and 1,500 of output, which count twice, wait for their answer at the first
			// endpoint.
			if got := r.route("u", strings.Repeat("x", 4000)); got != "a" {
				t.Fatalf("a new user goes to %s, want a", got)
			}
			if got := r.scores("vtc-basic"); !slices.EqualFunc(got, tc.want, near) {
				t.Errorf("scores %v, want %v", got, tc.want)
			}
		})
	}
}

// TestVTCBasicUsers: who a request is counted for.
func TestVTCBasicUsers(t *testing.T) {
	for _, tc := range []struct{ name, parameters, header, body, want string }{
		{"the usual header", `{}`, "user", `"user": "body"`, "header"},
		{"another header", `{"userHeader": "X-Tenant"}`, "x-tenant", `"user": "body"`, "header"},
		{"the body", `{}`, "x-tenant", `"user": "body"`, "body"},
		{"nobody", `{}`, "x-tenant", `"n": 1`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRouter(t, `{"plugins": [{"type": "vtc-basic", "parameters": `+tc.parameters+`}]}`, scoring.Endpoint{})
			body := []byte(`{"model": "m", "prompt": "hello", ` + tc.body + `}`)
			if failure := r.cycle.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
				t.Fatal(failure.Message)
			}
			r.cycle.Request.Headers = plantest.Headers(r.plan, map[string]string{tc.header: "header"})
			plantest.Decide(r.plan, r.cycle)
			if r.plan.Record(r.cycle, &r.event); r.event.User != journal.HashName(tc.want) {
				t.Errorf("counted for %x, want %q, %x", r.event.User, tc.want, journal.HashName(tc.want))
			}
		})
	}
}
