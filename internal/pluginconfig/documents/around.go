package documents

import "github.com/pintle-dev/pintle/scoring"

// reference draws one to a plug-in, declared or not.
func (g *Generator) reference() map[string]any {
	return map[string]any{"pluginRef": pick(g, append([]string{"utilization-detector", "metrics-data-source",
		"core-metrics-extractor", "openai-parser", "models-data-source", "models-data-extractor"}, g.plugins...)...)}
}

// around draws what stands in a document beside plug-ins and profiles, each seldom.
func (g *Generator) around(d map[string]any, dialect scoring.Dialect) {
	source := g.reference()
	source["extractors"] = []any{g.reference()}
	both := map[string]func() any{
		"featureGates": func() any {
			return []any{pick(g, "dataLayer", "prepareDataPlugins", "flowControl", "flowControl=false",
				"dataLayer=TRUE", "haPopulateNonLeaderDatastore", "flowControl=maybe")}
		},
		"saturationDetector": func() any {
			depth := map[string]any{"queueDepthThreshold": g.integer(&Key{least: "1", most: "9223372036854775807"})}
			return pick[any](g, g.reference(), depth)
		},
		"data": func() any { return map[string]any{"sources": []any{source}} },
		"flowControl": func() any {
			return pick[any](g, map[string]any{}, map[string]any{"maxBytes": "10Gi"},
				map[string]any{"saturationDetector": g.reference()})
		},
		"parser": func() any { return g.reference() },
	}
	if dialect == scoring.DialectLLMD {
		both["dataLayer"] = func() any {
			return pick[any](g, map[string]any{"sources": []any{source}}, map[string]any{"injectDefaults": false},
				map[string]any{"discovery": g.reference()})
		}
		both["requestHandler"] = func() any { return map[string]any{"parsers": []any{g.reference()}} }
	}
	for _, key := range []string{"featureGates", "saturationDetector", "data", "flowControl", "parser", "dataLayer",
		"requestHandler"} {
		if draw := both[key]; draw != nil && g.chance(0.06) {
			d[key] = draw()
		}
	}
}
