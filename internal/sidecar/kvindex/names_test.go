package kvindex

import "testing"

// TestNamesOfBaseModels: the blocks of the one base model that topics name are those of every alias; of several, those
// of the configured one.
func TestNamesOfBaseModels(t *testing.T) {
	tokens := tokensFrom(1, 16)
	for _, test := range []struct {
		name, model string
		bases       []string // each told by an endpoint of that name
		want        string
	}{
		{"one, as configured", "hub/m", []string{"hub/m"}, "hub/m"},
		{"one, and none is configured", "", []string{"m"}, "m"},
		{"one, and another is configured", "hub/m", []string{"m"}, "m"},
		{"several, one of them configured", "m", []string{"a", "m", "z"}, "m"},
		{"several, none of them configured", "hub/m", []string{"a", "z"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := newIndexer(t, Config{BlockTokens: 4, Model: test.model})
			for _, base := range test.bases {
				stores(t, x, base, "", base, 4, Prompt{Tokens: tokens})
			}
			x.Serves([]string{"alias"})
			names := ""
			got, err := x.Match(t.Context(), nil, "alias", &Prompt{Tokens: tokens}, test.bases)
			for _, hit := range got {
				names += hit.Endpoint
			}
			if err != nil || names != test.want {
				t.Errorf("got %q, %v, want %q", names, err, test.want)
			}
		})
	}
}
