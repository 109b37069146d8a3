package filters_test

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

func TestByLabel(t *testing.T) {
	tests := []struct {
		name, parameters string
		want             []string
	}{
		{"one value", `{"label": "zone", "validValues": ["x"]}`, []string{"a"}},
		{"two values", `{"label": "zone", "validValues": ["y", "x"]}`, []string{"a", "b"}},
		{"other case", `{"label": "zone", "validValues": ["X"]}`, nil},
		{"other label", `{"label": "Zone", "validValues": ["x"]}`, nil},
		{"no label allowed", `{"label": "zone", "validValues": ["x"], "allowsNoLabel": true}`, []string{"a", "d", "e"}},
		{"only no label allowed", `{"label": "zone", "allowsNoLabel": true}`, []string{"d", "e"}},
		{"the empty value is a value", `{"label": "zone", "validValues": [""]}`, []string{"c"}},
		{"nobody", `{"label": "zone", "validValues": ["z"]}`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := plantest.Keep(t, `{"type": "by-label", "parameters": `+test.parameters+`}`,
				plantest.Labelled("zone", "x"), plantest.Labelled("rack", "1", "zone", "y"),
				plantest.Labelled("zone", ""),
				plantest.Labelled("rack", "x"), plantest.Labelled())
			if !slices.Equal(got, test.want) {
				t.Errorf("kept %q, want %q", got, test.want)
			}
		})
	}
}
