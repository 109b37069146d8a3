package documents_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/pluginconfig/documents"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/registry"
)

// TestParametersAreFound: what a plug-in says of itself that it reads is among the keys that its mistakes tell of.
func TestParametersAreFound(t *testing.T) {
	for _, plugin := range registry.Plugins {
		var found []string
		for _, dialect := range []scoring.Dialect{scoring.DialectHeimdall, scoring.DialectLLMD} {
			for _, key := range documents.Parameters(plugin.Type, dialect) {
				found = append(found, key.Name)
			}
		}
		parameters, _ := scoring.Describe(plugin, registry.Plugins)
		for _, p := range parameters {
			if !slices.Contains(found, p.Name) {
				t.Errorf("%s: found %q, want %s, too", plugin.Type, found, p.Name)
			}
		}
	}
}

// TestDrawn: the same seed draws the same; of what is drawn some is accepted, and more of it without odd values.
func TestDrawn(t *testing.T) {
	const drawn = 400
	share := func(wrong float64) (accepted int) {
		for seed := range uint64(drawn) {
			text := documents.New(seed, wrong).Next()
			if again := documents.New(seed, wrong).Next(); !bytes.Equal(text, again) {
				t.Fatalf("seed %d draws %s, and then %s", seed, text, again)
			}
			if _, err := pluginconfig.Parse(text); err == nil {
				accepted++
			}
		}
		return accepted
	}
	right, wrong := share(0), share(0.3)
	if right < drawn/10 || wrong == 0 || wrong > right {
		t.Errorf("of %d each: %d accepted without odd values and %d with, want a tenth, and some", drawn, right, wrong)
	}
}
