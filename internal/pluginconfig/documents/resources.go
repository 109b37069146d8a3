package documents

import "strconv"

// resourceTypes are the plug-ins of Heimdall's resources.
var resourceTypes = []string{"constant-scorer", "inflight-requests-scorer", "kv-cache-utilization-scorer",
	"kv-utilization-scorer", "prefix-cache-scorer", "running-requests-scorer", "token-length-scorer",
	"waiting-requests-scorer", "max-score-picker", "random-picker", "weighted-random-picker"}

// NextResources draws a configuration of Heimdall's resources as JSON: a SchedulingProfile, or a list of them with an
// AIGateway.
func (g *Generator) NextResources() []byte {
	const version = "heimdall.moreh.io/v1alpha1"
	var items, bindings []any
	for i := range pick(g, 1, 2, 3) {
		name := "r" + strconv.Itoa(i)
		items = append(items, map[string]any{"apiVersion": version, "kind": "SchedulingProfile",
			"metadata": map[string]any{"name": name}, "spec": g.resource()})
		bindings = append(bindings, map[string]any{"profile": name,
			"model": pick(g, "default", "m", "a") + pick(g, "", strconv.Itoa(i))})
	}
	whole := items[0]
	if len(items) > 1 || g.chance(0.3) {
		items = append(items, map[string]any{"apiVersion": version, "kind": "AIGateway",
			"metadata": map[string]any{"name": "gateway"}, "spec": map[string]any{"schedulingProfiles": bindings}})
		whole = map[string]any{"kind": "List", "items": items}
	}
	if g.chance(0.5) {
		whole = map[string]any{"config": whole, "debug": g.chance(0.5)}
	}
	return encode(whole)
}

// resource draws what a SchedulingProfile specifies.
func (g *Generator) resource() map[string]any {
	handler := pick(g, "e2e", "e2e", "pd")
	var plugins, references []any
	for i := range 1 + g.random.IntN(4) {
		kind := pick(g, resourceTypes...)
		p, name := map[string]any{"type": kind}, kind
		if g.chance(0.6) {
			name = "p" + strconv.Itoa(i)
			p["name"] = name
		}
		if g.chance(0.3) {
			p["config"] = map[string]any{"blockSize": g.random.IntN(64)}
		}
		plugins = append(plugins, p)
		references = append(references, map[string]any{"name": name, "weight": g.random.IntN(9)})
	}
	profiles := map[string]any{}
	for _, name := range map[string][]string{"e2e": {"default"}, "pd": {"decode", "prefill"}}[handler] {
		profiles[name] = map[string]any{"pluginRefs": references[:g.random.IntN(len(references)+1)]}
	}
	return map[string]any{"profileHandler": handler, "plugins": plugins, "profiles": profiles}
}
