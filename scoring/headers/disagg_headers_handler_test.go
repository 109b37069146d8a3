package headers_test

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestOwnedHeaders: what tells the decode server of other stages comes from the plug-in alone, under whatever names.
func TestOwnedHeaders(t *testing.T) {
	tests := []struct {
		name, parameters string
		want             []string
	}{
		{"default", `{}`, []string{"mif-encode-endpoints", "mif-prefill-endpoint"}},
		{"named", `{"prefillHeader": "x-p", "encodeHeader": "x-e"}`, []string{"x-e", "x-p"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "disagg-headers-handler", "parameters": `+tc.parameters+
				`}]}`, plantest.Neutral)
			if got := slices.Sorted(slices.Values(plan.OwnedHeaders())); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
