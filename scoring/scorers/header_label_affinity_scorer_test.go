package scorers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// stamps are the headers of a response.
type stamps map[string]string

func (s stamps) SetHeader(name string, value []byte) { s[name] = string(value) }

// TestLabelInTheAnswer: the answer says the label of the endpoint that served, unless that is not wanted.
func TestLabelInTheAnswer(t *testing.T) {
	for _, tc := range []struct {
		name, parameters, want string
		served                 scoring.Endpoint
	}{
		{"as usual", "", "1", plantest.Labelled("slice", "1")},
		{"wanted", `, "stampResponseHeader": true`, "1", plantest.Labelled("slice", "1")},
		{"not wanted", `, "stampResponseHeader": false`, "", plantest.Labelled("slice", "1")},
		{"without a label", "", "", plantest.Labelled("other", "1")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "header-label-affinity-scorer", "parameters": {
				"headerName": "X-Disagg-Slice", "labelKey": "slice"`+tc.parameters+`}}]}`, plantest.Neutral)
			got := stamps{}
			plan.Respond(&scoring.Outcome{Served: &tc.served}, got)
			if got["x-disagg-slice"] != tc.want || tc.want == "" && len(got) != 0 {
				t.Errorf("got %v, want %q", got, tc.want)
			}
		})
	}
}

// TestWeightOfMedia: a weight of media is read, and told to have no effect where it would have one.
func TestWeightOfMedia(t *testing.T) {
	for weight, want := range map[string]string{
		"1": "", "-1": "",
		"2.5": "token-load-scorer: nonTextTokenWeight has no effect: tokens of media count as those of text",
	} {
		plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "token-load-scorer", "parameters": {
			"nonTextTokenWeight": `+weight+`}}]}`, "", want)
	}
}
