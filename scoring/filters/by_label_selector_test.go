package filters_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestByLabelSelector: a has the zone x, b the zone y and a rack, c an empty zone, and d no label.
func TestByLabelSelector(t *testing.T) {
	for _, tc := range []struct{ name, parameters, want string }{
		{"nothing asked", `{}`, "a b c d"},
		{"a pair", `{"matchLabels": {"zone": "x"}}`, "a"},
		{"an empty value of a pair", `{"matchLabels": {"zone": ""}}`, "c"},
		{"two pairs", `{"matchLabels": {"zone": "y", "rack": "1"}}`, "b"},
		{"two pairs, of which one holds", `{"matchLabels": {"zone": "x", "rack": "1"}}`, ""},
		{"In", `{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["x", "y"]}]}`, "a b"},
		{"NotIn", `{"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["x", "y"]}]}`, "c d"},
		{"Exists", `{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}`, "a b c"},
		{"DoesNotExist", `{"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}`, "d"},
		{"every requirement", `{"matchExpressions": [{"key": "zone", "operator": "Exists"},
			{"key": "rack", "operator": "DoesNotExist"}, {"key": "zone", "operator": "NotIn", "values": ["x"]}]}`, "c"},
		{"a pair and a requirement", `{"matchLabels": {"zone": "y"}, "matchExpressions": [
			{"key": "rack", "operator": "DoesNotExist"}]}`, ""},
	} {
		for _, kind := range []string{"by-label-selector", "label-selector-filter"} {
			t.Run(tc.name+" of "+kind, func(t *testing.T) {
				kept := plantest.Keep(t, `{"type": "`+kind+`", "parameters": `+tc.parameters+`}`,
					plantest.Labelled("zone", "x"), plantest.Labelled("zone", "y", "rack", "1"),
					plantest.Labelled("zone", ""), plantest.Labelled())
				if got := strings.Join(kept, " "); got != tc.want {
					t.Errorf("kept %q, want %q", got, tc.want)
				}
			})
		}
	}
}

// TestLabelMistakes: what is wrong with filters by labels is said by its key.
func TestLabelMistakes(t *testing.T) {
	requirement := func(text string) string { return `{"matchExpressions": [` + text + `]}` }
	for _, tc := range []struct{ name, kind, parameters, want string }{
		{"no key", "by-label-selector", requirement(`{"operator": "Exists"}`),
			"matchExpressions[0].key: is missing; name a label"},
		{"no operator", "by-label-selector", requirement(`{"key": "a", "values": ["b"]}`),
			"matchExpressions[0].operator: is missing; it is one of In, NotIn, Exists, DoesNotExist"},
		{"In without values", "by-label-selector", requirement(`{"key": "a", "operator": "In"}`),
			"matchExpressions[0].values: is missing; In needs at least one"},
		{"NotIn of no values", "by-label-selector", requirement(`{"key": "a", "operator": "NotIn", "values": []}`),
			"matchExpressions[0].values: is empty; NotIn needs at least one"},
		{"Exists with values", "by-label-selector", requirement(`{"key": "a", "operator": "Exists", "values": ["b"]}`),
			"matchExpressions[0].values: is given; Exists takes none"},
		{"DoesNotExist with values", "by-label-selector",
			requirement(`{"key": "a", "operator": "DoesNotExist", "values": ["b"]}`),
			"matchExpressions[0].values: is given; DoesNotExist takes none"},
		{"an unknown key", "by-label-selector", requirement(`{"key": "a", "operator": "Exists", "value": "b"}`),
			`matchExpressions[0]: unknown key "value"; did you mean values? known are key, operator, values`},
		{"no label", "by-label", `{"validValues": ["a"]}`, "label: is missing; by-label needs the label's key"},
		{"no values", "by-label", `{"label": "a"}`,
			"validValues: is missing; list the values that pass, or set allowsNoLabel"},
		{"an empty list", "by-label", `{"label": "a", "validValues": []}`,
			"validValues: is empty; list the values that pass, or set allowsNoLabel"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"plugins": [{"type": "`+tc.kind+`", "parameters": `+tc.parameters+`}]}`,
				"plugins[0]("+tc.kind+").parameters."+tc.want, "")
		})
	}
}
