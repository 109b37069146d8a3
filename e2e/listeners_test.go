package e2e

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/harness"
)

// canonical is the usual configuration of disaggregated inference.
const canonical = `{
	"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig",
	"plugins": [
		{"type": "disagg-headers-handler"},
		{"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 16}},
		{"type": "prefill-filter"}, {"type": "decode-filter"}, {"type": "max-score-picker"},
		{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "prefix-based-pd-decider"}}}],
	"schedulingProfiles": [
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}, {"pluginRef": "max-score-picker"}]},
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}, {"pluginRef": "max-score-picker"}]}]}`

// warm is canonical with a prefix scorer, by which the decider knows what need not be computed again.
var warm = strings.NewReplacer(`{"type": "disagg-headers-handler"},`,
	`{"type": "prefix-cache-scorer"}, {"type": "disagg-headers-handler"},`,
	`{"pluginRef": "decode-filter"},`, `{"pluginRef": "decode-filter"}, {"pluginRef": "prefix-cache-scorer"},`).Replace(
	canonical)

// cold spreads prompts that nobody has seen.
const cold = `{"plugins": [{"type": "prefix-cache-scorer"}, {"type": "no-hit-lru-scorer"}]}`

// multimodal adds an encode stage of up to two servers. HEADERS stands for the parameters of disagg-headers-handler.
const multimodal = `{
	"plugins": [
		{"type": "disagg-headers-handler", "parameters": HEADERS},
		{"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 16}}, {"type": "always-disagg-multimodal-decider"},
		{"type": "prefill-filter"}, {"type": "decode-filter"}, {"type": "encode-filter"}, {"type": "max-score-picker"},
		{"type": "max-score-picker", "name": "two", "parameters": {"maxNumOfEndpoints": 2}},
		{"type": "disagg-profile-handler", "parameters": {"deciders": {
			"prefill": "prefix-based-pd-decider", "encode": "always-disagg-multimodal-decider"}}},
		{"type": "response-header-handler"}],
	"schedulingProfiles": [
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}, {"pluginRef": "max-score-picker"}]},
		{"name": "encode", "plugins": [{"pluginRef": "encode-filter"}, {"pluginRef": "two"}]},
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}, {"pluginRef": "max-score-picker"}]}]}`

// ranks reaches all ranks of a host through the port PORT.
const ranks = `{
	"plugins": [
		{"type": "disagg-headers-handler"}, {"type": "prefix-based-pd-decider"}, {"type": "queue-scorer"}, {"type": "max-score-picker"},
		{"type": "pd-profile-handler", "parameters": {"primaryPort": PORT}}, {"type": "response-header-handler"}],
	"schedulingProfiles": [
		{"name": "prefill", "plugins": [{"pluginRef": "max-score-picker"}]},
		{"name": "decode", "plugins": [{"pluginRef": "queue-scorer"}, {"pluginRef": "max-score-picker"}]}]}`

// sessions keeps a session where it is even if other servers have shorter queues. RANKED stands for the length of the
// list.
const sessions = `{
	"plugins": [
		{"type": "session-affinity-scorer"}, {"type": "queue-scorer"}, {"type": "response-header-handler"},
		{"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": RANKED}}],
	"schedulingProfiles": [{"name": "default", "plugins": [
		{"pluginRef": "session-affinity-scorer", "weight": 2}, {"pluginRef": "queue-scorer"}, {"pluginRef": "max-score-picker"}]}]}`

const (
	// admission sheds by samples of any age, as tests publish them once.
	admission = `{"plugins": [{"type": "queue-scorer"}], "saturationDetector": {"metricsStalenessThreshold": "1h"}}`

	discovery = `{"featureGates": ["dataLayer"],
		"plugins": [{"type": "queue-scorer"}, {"type": "models-data-source"}, {"type": "model-server-protocol-models"}],
		"schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}]}],
		"data": {"sources": [{"pluginRef": "models-data-source", "extractors": [{"pluginRef": "model-server-protocol-models"}]}]}}`

	contextScores  = `{"plugins": [{"type": "context-length-aware", "parameters": {"charToTokenMultiplier": 0.25}}]}`
	contextFilters = `{"plugins": [{"type": "context-length-aware", "parameters":
		{"enableFiltering": true, "charToTokenMultiplier": 0.25}}]}`

	weighted = `{"plugins": [{"type": "kv-cache-utilization-scorer"}, {"type": "weighted-random-picker"}]}`

	selector = `{"plugins": [{"type": "by-label-selector", "parameters": {"matchLabels": {"tier": "gold"}, "matchExpressions": [
		{"key": "zone", "operator": "In", "values": ["a", "b"]}, {"key": "spot", "operator": "DoesNotExist"}]}}]}`

	adapters = `{"plugins": [{"type": "lora-affinity-scorer"}]}`
)

// resources are Heimdall's: models with profiles of their own, and one with two stages.
const (
	resources = `{"kind": "List", "items": [
		{"apiVersion": "heimdall.moreh.io/v1alpha1", "kind": "AIGateway", "metadata": {"name": "mif"},
			"spec": {"schedulingProfiles": [{"model": "m-v1", "profile": "by-queue"}, {"model": "default", "profile": "by-cache"}]}},
		{"apiVersion": "heimdall.moreh.io/v1alpha1", "kind": "SchedulingProfile", "metadata": {"name": "by-queue"},
			"spec": {
			"profileHandler": "e2e", "plugins": [{"type": "waiting-requests-scorer"}, {"type": "max-score-picker"}],
			"profiles": {"default": {"pluginRefs": [{"name": "waiting-requests-scorer"}, {"name": "max-score-picker"}]}}}},
		{"apiVersion": "heimdall.moreh.io/v1alpha1", "kind": "SchedulingProfile", "metadata": {"name": "by-cache"},
			"spec": {
			"profileHandler": "e2e", "plugins": [{"type": "kv-utilization-scorer"}, {"type": "max-score-picker"}],
			"profiles": {"default": {"pluginRefs": [{"name": "kv-utilization-scorer"}, {"name": "max-score-picker"}]}}}}]}`

	pairs = `{"apiVersion": "heimdall.moreh.io/v1alpha1", "kind": "SchedulingProfile", "metadata": {"name": "pairs"},
		"spec": {
		"profileHandler": "pd", "plugins": [{"type": "waiting-requests-scorer"},
			{"type": "prefix-cache-scorer", "config": {"transform": "logistic"}},
			{"type": "kv-cache-utilization-scorer"}, {"type": "token-length-scorer"}, {"type": "constant-scorer"}, {"type": "max-score-picker"}],
		"profiles": {
			"prefill": {"pluginRefs": [{"name": "waiting-requests-scorer", "weight": 100},
				{"name": "prefix-cache-scorer"}, {"name": "max-score-picker"}]},
			"decode": {"pluginRefs": [{"name": "waiting-requests-scorer", "weight": 100}, {"name": "kv-cache-utilization-scorer"},
				{"name": "token-length-scorer"}, {"name": "constant-scorer"}, {"name": "max-score-picker"}]}}}}`
)

// The headers that plug-ins add, by stage.
var (
	stageHeaders  = []string{"mif-prefill-endpoint", "mif-encode-endpoints"}
	customHeaders = []string{"x-prefiller-host-port", "x-encoder-hosts-ports"}
	rankHeaders   = []string{"x-data-parallel-host-port"}
)

// bootstrapHeaders are those by which SGLang would fetch a prompt's cache from elsewhere.
var bootstrapHeaders = []string{"x-override-bootstrap-host", "x-override-bootstrap-port", "x-override-bootstrap-room",
	"x-override-disagg-prefill-dp-rank"}

// pluginListeners are those of every cell that differ in the EndpointPickerConfig. primary is the server at the primary
// port.
func pluginListeners(cell harness.Cell, primary string) []*harness.Listener {
	plugin := func(document string, replace ...string) map[string]any {
		text := strings.NewReplacer(replace...).Replace(document)
		return map[string]any{
			"config": json.RawMessage(text), "stale": map[string]any{"after": "1h"},
			"failing": map[string]any{"policy": "ignore"},
		}
	}
	ranked := 1
	if cell.OverrideHost() {
		ranked = 4 // as often as Envoy tries
	}
	custom := `{"prefillHeader": "x-prefiller-host-port", "encodeHeader": "x-encoder-hosts-ports"}`
	explained := plugin(contextScores)
	explained["debug"] = true
	return []*harness.Listener{
		{Name: "canonical", Plugin: map[string]any{"config": json.RawMessage(canonical)}, Carry: stageHeaders},
		{Name: "resources", Plugin: plugin(resources)},
		{Name: "pairs", Plugin: plugin(pairs), Carry: stageHeaders},
		{Name: "warm", Plugin: map[string]any{"config": json.RawMessage(warm)}, Carry: stageHeaders},
		{Name: "cold", Plugin: plugin(cold)},
		{Name: "multimodal", Plugin: plugin(multimodal, "HEADERS", "{}"), Carry: stageHeaders},
		{Name: "custom", Plugin: plugin(multimodal, "HEADERS", custom), Carry: customHeaders},
		{Name: "ranks", Plugin: plugin(ranks, "PORT", port(primary)), Carry: append(rankHeaders, stageHeaders...)},
		{Name: "sessions", Plugin: plugin(sessions, "RANKED", strconv.Itoa(ranked))},
		{Name: "admission", Plugin: plugin(admission)},
		{Name: "discovery", Plugin: plugin(discovery)},
		{Name: "context", Plugin: explained},
		{Name: "context-filter", Plugin: plugin(contextFilters)},
		{Name: "weighted", Plugin: plugin(weighted)},
		{Name: "selector", Plugin: plugin(selector)},
		{Name: "adapters", Plugin: plugin(adapters)},
		{Name: "llm-d", Plugin: plugin(llmd), Carry: customHeaders},
		{Name: "tokens", Plugin: plugin(inFlightTokens)},
		{Name: "affine", Plugin: with(plugin(inFlightTokens, `"plugins": [
	{`, `"plugins": [{"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": `+strconv.Itoa(ranked)+`}}, {`),
			"failing", map[string]any{"policy": "exclude"})},
		{Name: "packages", Plugin: plugin(packages)},
		{Name: "bursts", Plugin: plugin(bursts)},
		{Name: "combined", Plugin: plugin(combined), Carry: customHeaders},
		{Name: "data-layer", Plugin: plugin(dataLayers)},
		{Name: "shares", Plugin: with(plugin(shares), "debug", true)},
		{Name: "evictions", Plugin: with(plugin(evictions), "debug", true)},
		{Name: "users", Plugin: plugin(byUser)},
		{Name: "shadowed", Plugin: shadowed()},
		{Name: "subset", Plugin: with(plugin(weighted), "subset", "header"), Subset: `["10.9.9.9:1", "127.0.0.1:1"]`},
		{Name: "elsewhere", Plugin: with(plugin(weighted), "subset", "metadata"), Subset: `"10.9.9.9:8000,10.9.9.8"`},
		{Name: "parallel", Plugin: plugin(parallel, "PORT", port(primary)), Carry: rankHeaders},
	}
}

func with(plugin map[string]any, key string, value any) map[string]any {
	plugin[key] = value
	return plugin
}
