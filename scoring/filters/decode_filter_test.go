package filters_test

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

func TestDecodeFilter(t *testing.T) {
	tests := []struct {
		name   string
		labels []string
		want   bool
	}{
		{"decode", []string{"mif.moreh.io/role", "decode"}, true},
		{"both", []string{"mif.moreh.io/role", "both"}, true},
		{"no label", nil, true},
		{"other label", []string{"role", "prefill"}, true},
		{"prefill", []string{"mif.moreh.io/role", "prefill"}, false},
		{"encode", []string{"mif.moreh.io/role", "encode"}, false},
		{"empty", []string{"mif.moreh.io/role", ""}, false},
		{"other case", []string{"mif.moreh.io/role", "Decode"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			kept := plantest.Keep(t, `{"type": "decode-filter"}`, plantest.Labelled(test.labels...))
			if got := slices.Contains(kept, "a"); got != test.want {
				t.Errorf("kept is %v, want %v", got, test.want)
			}
		})
	}
}
