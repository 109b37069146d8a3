package producers_test

import (
	"math"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestLatencyRooms: what predictions leave of a request's objective, in seconds. Of servers of which nothing is known
// yet 0 is predicted.
func TestLatencyRooms(t *testing.T) {
	const now, before = "x-llm-d-slo-", "x-slo-"
	const streaming = `"streamingMode": true`
	type headers = map[string]string
	for _, tc := range []struct {
		name, parameters string
		headers          headers
		ttft, tpot       float64
	}{
		{"nothing asked", streaming, nil, 0, 0},
		{"both", streaming, headers{now + "ttft-ms": "300", now + "tpot-ms": "20"}, 0.3, 0.02},
		{"by former names", streaming, headers{before + "ttft-ms": "300", before + "tpot-ms": "20"}, 0.3, 0.02},
		{"by both names", streaming, headers{now + "ttft-ms": "300", before + "ttft-ms": "1", now + "tpot-ms": "20",
			before + "tpot-ms": "1"}, 0.3, 0.02},
		{"not streamed", ``, headers{now + "ttft-ms": "300", now + "tpot-ms": "20"}, 0.3, 0},
		{"a buffer", streaming + `, "sloBufferFactor": 1.5`, headers{now + "ttft-ms": "300", now + "tpot-ms": "20"}, 0.3,
			0.03},
		{"of a role", streaming + `, "endpointRoleLabel": "role"`, headers{now + "ttft-ms": "300", now + "tpot-ms": "20"},
			0.3, 0},
		{"of another role", streaming + `, "endpointRoleLabel": "part"`,
			headers{now + "ttft-ms": "300", now + "tpot-ms": "20"}, 0.3, 0.02},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var rules *scoring.LatencyRules
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"},
				{"type": "predicted-latency-producer", "parameters": {`+tc.parameters+`}}, {"type": "reader"}]}`,
				plantest.Neutral, scoring.Registration{Type: "reader", New: func(b *scoring.Builder) scoring.Plugin {
					rules = b.LatencyRules()
					return struct{}{}
				}})
			c := plantest.Cycle(plantest.Pool(plantest.Labelled("role", "prefill", "part", "decode")), 1)
			c.Request.Headers = plantest.Headers(plan, tc.headers)
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			predictions, known := rules.Predict(c, []*scoring.Endpoint{&c.Pool.Endpoints[0]})
			p := predictions[0]
			near := math.Abs(p.TTFTRoom-tc.ttft) <= 1e-12 && math.Abs(p.TPOTRoom-tc.tpot) <= 1e-12
			if known || !near || !p.Meets() {
				t.Errorf("rooms %v and %v, met %v, known %v; want %v and %v, true, false", p.TTFTRoom, p.TPOTRoom,
					p.Meets(), known, tc.ttft, tc.tpot)
			}
		})
	}
}

// TestPredictedLatencyTold: what is wrong with the parameters, and which of them have no effect.
func TestPredictedLatencyTold(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"},
		{"type": "predicted-latency-producer"}]}`, plantest.Neutral)
	if options := plan.StateOptions(); !options.Speeds || !options.InFlight || len(options.PrefixIndexes) != 1 {
		t.Errorf("the state keeps speeds: %v, requests: %v, and %d indexes of prompts; want both and one",
			options.Speeds, options.InFlight, len(options.PrefixIndexes))
	}
	const at, name = "plugins[1](predicted-latency-producer).parameters.", "predicted-latency-producer: "
	for _, tc := range []struct{ name, parameter, mistake, warning string }{
		{"none", ``, "", ""},
		{"the least buffer", `"sloBufferFactor": 1e-9`, "", ""},
		{"no buffer", `"sloBufferFactor": 0`, "sloBufferFactor: 0 is not a number from 0.000000001 to 1000000", ""},
		{"contexts", `"contextTTL": 1e18`, "", "contextTTL has no effect: the journal tells what is in flight"},
		{"when", `"predictInProduce": false`, "", "predictInProduce has no effect: what nobody asks for is not predicted"},
		{"prefixes", `"prefixMatchInfoProducerName": "x"`, "",
			"prefixMatchInfoProducerName has no effect: cached prefixes count as inflight-load-producer counts them"},
		{"encoders", `"useEncoderCacheFeatures": true`, "",
			"useEncoderCacheFeatures has no effect: what encoders have cached is not known"},
		{"an encoder", `"encoderCacheMatchInfoProducerName": "x"`, "",
			"encoderCacheMatchInfoProducerName has no effect: what encoders have cached is not known"},
		{"samples", `"samplingMean": 0`, "", "samplingMean has no effect: every answer is learnt from, once"},
		{"most samples", `"maxDecodeTokenSamplesForPrediction": 0`, "",
			"maxDecodeTokenSamplesForPrediction has no effect: every answer is learnt from, once"},
		{"samples below 0", `"samplingMean": -1`, "samplingMean: -1 is not a number from 0 to 1e+09", ""},
		{"most samples below 0", `"maxDecodeTokenSamplesForPrediction": -1`,
			"maxDecodeTokenSamplesForPrediction: -1 is not a whole number from 0 to 1000000000", ""},
		{"no load producer", `"inFlightLoadProducerName": "queue-scorer"`,
			`inFlightLoadProducerName: "queue-scorer" is of the type queue-scorer, not inflight-load-producer`, ""},
		{"nobody's load", `"inFlightLoadProducerName": "x"`, `inFlightLoadProducerName: "x" is not the name of a ` +
			"declared plug-in; declared are queue-scorer, predicted-latency-producer", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mistake, warning := "", ""
			if tc.mistake != "" {
				mistake = at + tc.mistake
			}
			if tc.warning != "" {
				warning = name + tc.warning
			}
			plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"},
				{"type": "predicted-latency-producer", "parameters": {`+tc.parameter+`}}]}`, mistake, warning)
		})
	}
}
