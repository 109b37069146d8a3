package scorers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestNoHitLRUNames: the scorer takes any prefix scorer, by type or by name, and what is none is a mistake.
func TestNoHitLRUNames(t *testing.T) {
	const path, last = "plugins[1](no-hit-lru-scorer).parameters.", "plugins[2](no-hit-lru-scorer).parameters."
	for _, tt := range []struct{ name, first, parameters, mistakes string }{
		{"by type", `{"type": "aibrix-prefix-cache"}`, `"prefixPluginType": "aibrix-prefix-cache"`, ""},
		{"by name", `{"type": "prefix-cache-scorer", "name": "mine"}`, `"prefixPluginName": "mine"`, ""},
		{"by both", `{"type": "aibrix-prefix-cache", "name": "mine"}`,
			`"prefixPluginType": "aibrix-prefix-cache", "prefixPluginName": "mine"`, ""},
		{"unknown type", `{"type": "prefix-cache-scorer"}`, `"prefixPluginType": "bogus"`,
			path + `prefixPluginType: "bogus" is not a known plug-in; it is the type of a prefix scorer`},
		{"another type", `{"type": "prefix-cache-scorer"}, {"type": "queue-scorer"}`, `"prefixPluginType": "queue-scorer"`,
			last + `prefixPluginType: "queue-scorer" is not the name of a prefix scorer`},
		{"another name", `{"type": "prefix-cache-scorer"}, {"type": "queue-scorer", "name": "mine"}`, `"prefixPluginName": "mine"`,
			last + `prefixPluginName: "mine" is not the name of a prefix scorer`},
		{"one that scores nothing by prefixes", `{"type": "prefix-cache-scorer"}, {"type": "cached-blocks-scorer"}`,
			`"prefixPluginType": "cached-blocks-scorer"`,
			last + `prefixPluginType: "cached-blocks-scorer" is not the name of a prefix scorer`},
		{"unknown name", `{"type": "prefix-cache-scorer"}`, `"prefixPluginName": "bogus"`,
			path + `prefixPluginName: "bogus" is not the name of a prefix scorer`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := `{"plugins": [` + tt.first + `, {"type": "no-hit-lru-scorer", "parameters": {` + tt.parameters + `}}]}`
			if got := plantest.Mistakes(config); got != tt.mistakes {
				t.Errorf("mistakes %q, want %q", got, tt.mistakes)
			}
		})
	}
}

// TestNoHitLRUOrder: the scorer stands behind a prefix scorer in each of its profiles, wherever the two are declared.
func TestNoHitLRUOrder(t *testing.T) {
	const prefix, cold, queue = `{"pluginRef": "prefix-cache-scorer"}`, `{"pluginRef": "no-hit-lru-scorer"}`,
		`{"pluginRef": "queue-scorer"}`
	const wrong = `schedulingProfiles: "no-hit-lru-scorer" needs a prefix scorer before it in the profile "p"`
	for _, tt := range []struct{ name, references, more, mistakes string }{
		{"behind it", prefix + `, ` + queue + `, ` + cold, ``, ""},
		{"before it", cold + `, ` + prefix, ``, wrong},
		{"without it", queue + `, ` + cold, ``, wrong},
		{"without it, beside what is unknown", queue + `, ` + cold, `, {"type": "made-up"}`,
			`plugins[3](made-up).type: "made-up" is not a known plug-in`},
	} {
		got, _, _ := strings.Cut(plantest.Mistakes(`{"plugins": [{"type": "no-hit-lru-scorer"},
			{"type": "prefix-cache-scorer"}, {"type": "queue-scorer"}`+tt.more+`],
			"schedulingProfiles": [{"name": "p", "plugins": [`+tt.references+`]}]}`), ";")
		if got != tt.mistakes {
			t.Errorf("%s: mistakes %q, want %q", tt.name, got, tt.mistakes)
		}
	}
}
