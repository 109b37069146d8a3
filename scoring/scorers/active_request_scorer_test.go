package scorers_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestActiveRequests: the scores of endpoints with so many requests in flight.
func TestActiveRequests(t *testing.T) {
	for _, tc := range []struct {
		name, parameters string
		inFlight         []int
		want             []float64
	}{
		{"nothing in flight", `{}`, []int{0, 0}, []float64{1, 1}},
		{"by default", `{}`, []int{0, 1, 3, 4}, []float64{1, 0.75, 0.25, 0}},
		{"one endpoint", `{}`, []int{2}, []float64{0}},
		{"idle up to a threshold", `{"idleThreshold": 1}`, []int{0, 1, 2, 4}, []float64{1, 1, 0.5, 0}},
		{"all idle", `{"idleThreshold": 4}`, []int{0, 4}, []float64{1, 1}},
		{"the best of the busy", `{"maxBusyScore": 0.5}`, []int{0, 1, 4}, []float64{1, 0.375, 0}},
		{"the busy are worth nothing", `{"maxBusyScore": 0}`, []int{0, 1, 4}, []float64{1, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRouter(t, `{"plugins": [{"type": "active-request-scorer", "parameters": `+tc.parameters+`}]}`,
				make([]scoring.Endpoint, len(tc.inFlight))...)
			for i, n := range tc.inFlight {
				r.load(r.cycle.Pool.Endpoints[i].Name, n)
			}
			if got := r.scores("active-request-scorer"); !slices.Equal(got, tc.want) {
				t.Errorf("scores %v, want %v", got, tc.want)
			}
		})
	}
}

// TestActiveRequestParameters: for how long a request counts, and what is told of the parameters in either dialect.
func TestActiveRequestParameters(t *testing.T) {
	const heimdall, llmd, kind = ``, `"apiVersion": "llm-d.ai/v1", `, "active-request-scorer"
	for _, tc := range []struct {
		name, dialect, parameters string
		mistake, warning          string
		timeout                   time.Duration
	}{
		{"by default", heimdall, ``, "", "", 2 * time.Minute},
		{"given", heimdall, `"requestTimeout": "5m"`, "", "", 5 * time.Minute},
		{"too short", heimdall, `"requestTimeout": "1us"`,
			`requestTimeout: "1us" is not a duration such as "2m" or "500ms", at least 1ms`, "", 0},
		{"below nothing", heimdall, `"idleThreshold": -1`,
			"idleThreshold: -1 is not a whole number from 0 to 2147483647", "", 0},
		{"more than the best", heimdall, `"maxBusyScore": 1.5`, "maxBusyScore: 1.5 is not a number from 0 to 1", "", 0},
		{"another producer", heimdall, `"inFlightLoadProducerName": "x"`,
			`: unknown key "inFlightLoadProducerName"; known are requestTimeout, idleThreshold, maxBusyScore`, "", 0},
		{"llm-d's default", llmd, ``, "", "", 0},
		{"given in llm-d's dialect", llmd, `"requestTimeout": "5m"`, "",
			"requestTimeout has no effect: inflight-load-producer says when a request no longer counts", 0},
		{"below nothing in llm-d's dialect", llmd, `"idleThreshold": -1`, "", "idleThreshold: -1 counts as 0", 0},
		{"more than the best in llm-d's dialect", llmd, `"maxBusyScore": 1.5`, "", "maxBusyScore: 1.5 counts as 1", 0},
		{"another producer in llm-d's dialect", llmd, `"inFlightLoadProducerName": "x"`, `inFlightLoadProducerName: "x" ` +
			"is not the name of a declared plug-in; declared are active-request-scorer", "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := `{` + tc.dialect + `"plugins": [{"type": "` + kind + `", "parameters": {` + tc.parameters + `}}]}`
			if tc.mistake != "" {
				tc.mistake = at(kind, tc.mistake)
			}
			if tc.warning != "" {
				tc.warning = kind + ": " + tc.warning
			}
			plantest.CheckTold(t, config, tc.mistake, tc.warning)
			if tc.mistake != "" || tc.dialect == llmd {
				return
			}
			if got := plantest.Plan(t, config, plantest.Neutral).StateOptions().RequestTimeout; got != tc.timeout {
				t.Errorf("a request counts for %v, want %v", got, tc.timeout)
			}
		})
	}
}

// TestActiveRequestTimeouts: of several timeouts the longest holds, whichever comes first.
func TestActiveRequestTimeouts(t *testing.T) {
	entry := func(name, timeout string) string {
		return `{"type": "active-request-scorer", "name": "` + name + `", "parameters": {"requestTimeout": "` + timeout +
			`"}}`
	}
	for _, timeouts := range [][2]string{{"5m", "3m"}, {"3m", "5m"}} {
		config := `{"plugins": [` + entry("a", timeouts[0]) + `, ` + entry("b", timeouts[1]) + `]}`
		if got := plantest.Plan(t, config, plantest.Neutral).StateOptions().RequestTimeout; got != 5*time.Minute {
			t.Errorf("%v: a request counts for %v, want 5m0s", timeouts, got)
		}
	}
}

// at is a mistake in the parameters of the first plug-in: of a key, or of all of them where it begins with a colon.
func at(kind, mistake string) string {
	if mistake[0] != ':' {
		mistake = "." + mistake
	}
	return "plugins[0](" + kind + ").parameters" + mistake
}
