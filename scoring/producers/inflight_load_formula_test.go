package producers_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestLoadFormula: how many tokens each of two endpoints has to compute, one of which has answered such a request.
func TestLoadFormula(t *testing.T) {
	const (
		prompt = 100 // tokens: a block of 64 and a part of another one
		whole  = `{"type": "approx-prefix-cache-producer", "parameters": {"autoTune": false}}, `
		short  = `{"type": "approx-prefix-cache-producer", "name": "short", "parameters": {"autoTune": false,
			"maxPrefixTokensToMatch": 64}}, `
		scorer = `{"type": "prefix-cache-scorer", "parameters": {"autoTune": false, "blockSizeTokens": 16}}, `
		// predicted-latency-scorer adds the producer.
		heimdall = `{"type": "predicted-latency-scorer"}`
	)
	producer := func(parameters string) string {
		return `{"type": "inflight-load-producer", "parameters": {` + parameters + `}}`
	}
	for _, tc := range []struct {
		name, plugins string
		want          []float64
	}{
		{"nothing matches", producer(``), []float64{prompt, prompt}},
		{"all of its blocks", whole + producer(``), []float64{0, 128}},
		{"what is behind the blocks", short + producer(``), []float64{36, prompt}},
		{"the first producer", short + whole + producer(``), []float64{36, prompt}},
		{"the producer that is named", whole + short + producer(`"prefixMatchInfoProducerName": "short"`),
			[]float64{36, prompt}},
		{"output beside blocks", short + producer(`"addEstimatedOutputTokens": true, "outputRatio": 2`),
			[]float64{36 + 200, prompt + 200}},
		{"output, rounded", producer(`"addEstimatedOutputTokens": true, "outputRatio": 0.125`),
			[]float64{prompt + 13, prompt + 13}},
		{"no output", producer(`"addEstimatedOutputTokens": true, "outputRatio": 0`), []float64{prompt, prompt}},
		{"the most of output", producer(`"addEstimatedOutputTokens": true, "maxEstimatedOutputTokens": 0`),
			[]float64{prompt, prompt}},
		{"by a prefix scorer", scorer + heimdall, []float64{prompt - 96, prompt}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [`+tc.plugins+`]}`, plantest.Neutral)
			text := quoted(strings.Repeat("word", prompt))
			c := answered(t, plan, text, scoring.Endpoint{}, scoring.Endpoint{})
			ask(t, c, text)
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			loads := make([]float64, 2)
			c.RequestLoads([]*scoring.Endpoint{&c.Pool.Endpoints[0], &c.Pool.Endpoints[1]}, loads)
			slices.Sort(loads) // whichever has answered
			if !slices.Equal(loads, tc.want) {
				t.Errorf("%v tokens to compute, want %v", loads, tc.want)
			}
		})
	}
}

// TestLoadOptions: what the state has to keep, and for how long a request counts whose end is not seen.
func TestLoadOptions(t *testing.T) {
	counted := state.Options{InFlight: true, Begins: true, Lengths: true, RequestTimeout: 10 * time.Minute}
	withOutput, learning, long := counted, counted, counted
	withOutput.KeepTokens = true
	learning.KeepTokens, learning.Outputs = true, true
	long.RequestTimeout = time.Hour
	producer := func(parameters string) string {
		return `{"type": "inflight-load-producer", "parameters": {` + parameters + `}}`
	}
	for _, tc := range []struct {
		name, plugins string
		want          state.Options
	}{
		{"none", producer(``), counted},
		{"output by a ratio", producer(`"addEstimatedOutputTokens": true, "outputRatio": 1.5`), withOutput},
		{"output as learnt", producer(`"addEstimatedOutputTokens": true`), learning},
		{"twice", producer(`"addEstimatedOutputTokens": true`) + `, {"name": "b", ` +
			producer(`"addEstimatedOutputTokens": true`)[1:], learning},
		{"beside one that waits longer", `{"type": "active-request-scorer", "parameters": {"requestTimeout": "1h"}},
			{"type": "predicted-latency-scorer"}`, long},
	} {
		got := plantest.Plan(t, `{"plugins": [`+tc.plugins+`, {"type": "queue-scorer"}]}`,
			plantest.Neutral).StateOptions()
		kept := state.Options{InFlight: got.InFlight, Begins: got.Begins, Lengths: got.Lengths,
			KeepTokens: got.KeepTokens, Outputs: got.Outputs, RequestTimeout: got.RequestTimeout}
		if !reflect.DeepEqual(kept, tc.want) {
			t.Errorf("%s: the state keeps %+v, want %+v", tc.name, kept, tc.want)
		}
	}
}

// TestLoadTold: what is wrong with the parameters, and of which the operator is warned.
func TestLoadTold(t *testing.T) {
	const at = "plugins[0](inflight-load-producer).parameters."
	const replicas = "inflight-load-producer: syncCrossReplicaState has no effect: the workers of one Envoy count " +
		"together, those of several do where their sidecars replicate"
	for _, tc := range []struct{ name, parameters, mistakes, warnings string }{
		{"none", ``, "", ""},
		{"replicas", `"syncCrossReplicaState": true`, "", replicas},
		{"no replicas", `"syncCrossReplicaState": false`, "", ""},
		{"a ratio below 0", `"outputRatio": -1`, at + "outputRatio: -1 is not a number from 0 to 1000000", ""},
		{"output below 0", `"maxEstimatedOutputTokens": -1`,
			at + "maxEstimatedOutputTokens: -1 is not a whole number from 0 to 2147483647", ""},
		{"nobody", `"prefixMatchInfoProducerName": "x"`, at + `prefixMatchInfoProducerName: "x" is not the name of a ` +
			"declared plug-in; declared are inflight-load-producer, queue-scorer", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "inflight-load-producer",
				"parameters": {`+tc.parameters+`}}, {"type": "queue-scorer"}]}`, tc.mistakes, tc.warnings)
		})
	}
}
