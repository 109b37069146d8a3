package picker

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// document is what is compared.
type document struct {
	name, text string
	// labels are those of the server of a number.
	labels func(i int) map[string]string
	// next makes a request.
	next func(random *rand.Rand, servers []*server) request
	// inFlight is how many requests there are at once whose answers have not ended.
	inFlight int
	// atOneAddress is how many servers have an address in common.
	atOneAddress int
	// comparable says whether what is to be decided depends on no chance; unset, it never does.
	comparable func(p *pintle) bool
}

// one is a document with one profile. Its picker names all endpoints, so that their order shows.
func one(plugins string, refs ...string) string {
	return `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
` + strings.TrimPrefix(plugins, "\n") + `- {type: max-score-picker, parameters: {maxNumOfEndpoints: 6}}
schedulingProfiles:
` + profile("default", refs...)
}

// profile is one of a document: names of plug-ins, each with its weight behind a space where it has one.
func profile(name string, refs ...string) string {
	text := "- name: " + name + "\n  plugins:\n"
	for _, ref := range append(refs, "max-score-picker") {
		plugin, weight, weighed := strings.Cut(ref, " ")
		if weighed {
			weight = ", weight: " + weight
		}
		text += "  - {pluginRef: " + plugin + weight + "}\n"
	}
	return text
}

// onlyBest is a document whose picker names the best endpoint alone: what a picker names learns, too, of images.
func onlyBest(text string) string {
	return strings.Replace(text, "maxNumOfEndpoints: 6", "maxNumOfEndpoints: 1", 1)
}

// byNumber gives the server of a number the label of that place; the empty one is none.
func byNumber(label string, values ...string) func(i int) map[string]string {
	return func(i int) map[string]string {
		if values[i] == "" {
			return nil
		}
		return map[string]string{label: values[i]}
	}
}

// documents are what is compared, by what they are about.
var documents = []document{
	{name: "load", next: plain, text: one(`
- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
- {type: running-requests-size-scorer}
- {type: load-aware-scorer, parameters: {threshold: 20}}
`, "queue-scorer 2", "kv-cache-utilization-scorer 1.5", "running-requests-size-scorer", "load-aware-scorer 0.7")},
	{name: "prefixes", next: plain, text: one(`
- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
- {type: prefix-cache-scorer}
`, "queue-scorer 2", "kv-cache-utilization-scorer 2", "prefix-cache-scorer 3")},
	{name: "prefixes of any API", next: anyAPI, text: one(`
- {type: queue-scorer}
- {type: prefix-cache-scorer}
`, "queue-scorer", "prefix-cache-scorer 3")},
	{name: "named producers", next: anyAPI, text: one(`
- {type: token-producer, parameters: {estimate: {image: {mode: static, static: {staticToken: 500}}}}}
- {type: approx-prefix-cache-producer, name: gpu, parameters: {autoTune: false, blockSizeTokens: 128}}
- {type: approx-prefix-cache-producer, name: cpu,
  parameters: {autoTune: false, lruCapacityPerServer: 20000, maxPrefixTokensToMatch: 4000}}
- {type: prefix-cache-scorer, name: gpu-scorer,
  parameters: {prefixMatchInfoProducerName: gpu, matchLengthWeight: 0.4, matchLengthScaleTokens: 3000}}
- {type: prefix-cache-scorer, name: cpu-scorer, parameters: {prefixMatchInfoProducerName: cpu}}
- {type: queue-scorer}
`, "gpu-scorer 2", "cpu-scorer", "queue-scorer 2")},
	{name: "baseline", next: plain, comparable: func(p *pintle) bool { return len(p.cold) == serversOfAFleet },
		text: one(`
- {type: approx-prefix-cache-producer}
- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
- {type: prefix-cache-scorer}
- {type: no-hit-lru-scorer}
`, "queue-scorer 2", "kv-cache-utilization-scorer 2", "prefix-cache-scorer 3", "no-hit-lru-scorer 2")},
	{name: "context lengths", next: anyAPI, labels: ranges("range"), text: one(`
- {type: context-length-aware, parameters: {label: range}}
- {type: kv-cache-utilization-scorer}
`, "context-length-aware 2", "kv-cache-utilization-scorer")},
	{name: "context lengths as a filter", next: plain, labels: ranges("llm-d.ai/context-length-range"), text: one(`
- {type: context-length-aware, parameters: {enableFiltering: true}}
- {type: kv-cache-utilization-scorer}
`, "context-length-aware", "kv-cache-utilization-scorer")},
	{name: "adapters", next: adapted, text: one(`
- {type: lora-affinity-scorer}
- {type: kv-cache-utilization-scorer}
`, "lora-affinity-scorer 2", "kv-cache-utilization-scorer")},
	{name: "requests in flight", next: plain, inFlight: 24, text: one(`
- {type: active-request-scorer, parameters: {idleThreshold: 2, maxBusyScore: 0.8}}
- {type: kv-cache-utilization-scorer}
`, "active-request-scorer", "kv-cache-utilization-scorer 0.5")},
	{name: "affinity to prefixes", next: plain, inFlight: 16, text: one(`
- {type: approx-prefix-cache-producer}
- {type: inflight-load-producer}
- {type: prefix-cache-affinity-filter,
  parameters: {affinityThreshold: 0.5, maxTTFTPenaltyMs: 100, peakPrefillThroughput: 8000}}
- {type: queue-scorer}
`, "prefix-cache-affinity-filter", "queue-scorer")},
	{name: "output in flight", next: plain, inFlight: 16, text: one(`
- {type: inflight-load-producer, parameters: {addEstimatedOutputTokens: true, outputRatio: 0.5,
  maxEstimatedOutputTokens: 300}}
- {type: prefix-cache-affinity-filter, parameters: {maxTTFTPenaltyMs: 20, peakPrefillThroughput: 8000}}
- {type: active-request-scorer}
`, "prefix-cache-affinity-filter", "active-request-scorer")},
	{name: "images", next: pictures, text: onlyBest(one(`
- {type: mm-embeddings-cache-producer}
- {type: mm-embeddings-cache-scorer}
- {type: prefix-cache-scorer}
- {type: queue-scorer}
`, "mm-embeddings-cache-scorer 2", "prefix-cache-scorer", "queue-scorer"))},
	{name: "three indexes", next: plain, comparable: func(p *pintle) bool { return len(p.cold) == serversOfAFleet },
		text: one(`
- {type: no-hit-lru-scorer}
- {type: approx-prefix-cache-producer, name: gpu}
- {type: approx-prefix-cache-producer, name: cpu, parameters: {autoTune: false, lruCapacityPerServer: 82000}}
- {type: queue-scorer}
- {type: prefix-cache-scorer, name: gpu-scorer, parameters: {prefixMatchInfoProducerName: gpu}}
- {type: prefix-cache-scorer, name: cpu-scorer, parameters: {prefixMatchInfoProducerName: cpu}}
`, "queue-scorer", "gpu-scorer", "cpu-scorer", "no-hit-lru-scorer")},
	{name: "no predictions", next: plain, text: one(`
- {type: predicted-latency-producer}
- {type: latency-scorer, parameters: {compositeKVWeight: 2, compositePrefixWeight: 1.5}}
- {type: slo-headroom-tier-filter}
`, "slo-headroom-tier-filter", "latency-scorer")},
}

// ranges are lengths of contexts, overlapping ones; the first server has none.
func ranges(label string) func(i int) map[string]string {
	return func(i int) map[string]string {
		if i == 0 {
			return nil
		}
		return map[string]string{label: strconv.Itoa(500*i-500) + "-" + strconv.Itoa(1200*i)}
	}
}
