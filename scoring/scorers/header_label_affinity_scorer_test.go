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

// TestHeaderLabelScores: a has the label 1, b the label 2, c an empty one and d none.
func TestHeaderLabelScores(t *testing.T) {
	for _, tc := range []struct{ name, header, want string }{
		{"the first", "1", "a"}, {"the second", "2", "b"}, {"of nobody", "3", ""}, {"no header", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "header-label-affinity-scorer", "parameters": {
				"headerName": "X-Disagg-Slice", "labelKey": "slice"}}]}`, plantest.Neutral)
			c := plantest.Cycle(plantest.Pool(plantest.Labelled("slice", "1"), plantest.Labelled("slice", "2"),
				plantest.Labelled("slice", ""), plantest.Labelled("other", "1")), 1)
			c.Request.Headers = plantest.Headers(plan, map[string]string{"x-disagg-slice": tc.header})
			for name, score := range plantest.Decide(plan, c).Scores["header-label-affinity-scorer"] {
				if want := map[bool]float64{true: 1}[name == tc.want]; score != want {
					t.Errorf("%s scores %v, want %v", name, score, want)
				}
			}
		})
	}
}

// TestHeaderLabelMistakes: both names are needed.
func TestHeaderLabelMistakes(t *testing.T) {
	for _, tc := range []struct{ name, parameters, want string }{
		{"no header", `"labelKey": "slice"`, "headerName: is missing; name the header whose value is compared"},
		{"no label", `"headerName": "x-slice"`, "labelKey: is missing; name the label that it is compared with"},
		{"an empty label", `"headerName": "x-slice", "labelKey": ""`,
			"labelKey: is empty; name the label that it is compared with"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"plugins": [{"type": "header-label-affinity-scorer", "parameters": {`+tc.parameters+
				`}}]}`, at("header-label-affinity-scorer", tc.want), "")
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
