package picker

// selections are documents about who may serve a request at all.
var selections = []document{
	{name: "label selectors", next: plain, labels: tiers, text: one(`
- {type: label-selector-filter, parameters: {matchLabels: {tier: gold}, matchExpressions:
  [{key: zone, operator: In, values: [a, b]}, {key: old, operator: DoesNotExist}]}}
- {type: queue-scorer}
`, "label-selector-filter", "queue-scorer")},
	{name: "a label", next: plain, labels: tiers, text: one(`
- {type: by-label, parameters: {label: zone, validValues: [a, c], allowsNoLabel: true}}
- {type: by-label-selector, parameters: {matchExpressions: [{key: tier, operator: NotIn, values: [iron]}]}}
- {type: queue-scorer}
`, "by-label", "by-label-selector", "queue-scorer")},
	{name: "a label that a header names", next: with("x-zone", "", "a", "b", "nowhere"), labels: tiers, text: one(`
- {type: header-label-affinity-scorer, parameters: {headerName: x-zone, labelKey: zone}}
- {type: queue-scorer}
`, "header-label-affinity-scorer", "queue-scorer 0.5")},
	{name: "bounds of load", next: plain, inFlight: 20, text: one(`
- {type: utilization-filter, parameters: {conditions: [{metric: active-requests, maxValue: 5},
  {metric: running-requests, maxValue: 60}, {metric: waiting-queue, maxValue: 15},
  {metric: kv-cache-utilization, maxValue: 0.8}]}}
- {type: queue-scorer}
`, "utilization-filter", "queue-scorer")},
	{name: "bounds of load that are given up", next: plain, text: one(`
- {type: utilization-filter, parameters: {fallbackOnEmpty: true,
  conditions: [{metric: waiting-queue, maxValue: 2}, {metric: kv-cache-utilization, maxValue: 0.3}]}}
- {type: kv-cache-utilization-scorer}
`, "utilization-filter", "kv-cache-utilization-scorer")},
	{name: "saturation", next: plain, text: one(`
- {type: utilization-detector, parameters: {queueDepthThreshold: 8, kvCacheUtilThreshold: 0.7, headroom: 0.25,
  metricsStalenessThreshold: 10m}}
- {type: running-requests-size-scorer}
`, "utilization-detector", "running-requests-size-scorer")},
	{name: "attributes", next: plain, text: one(`
- {type: endpoint-attribute-filter, parameters: {attribute: Heat, fallbackOnEmpty: true,
  algorithm: {type: threshold, threshold: {operator: LessThanOrEqual, value: 75}}}}
- {type: endpoint-attribute-scorer, parameters: {attributeKey: Heat, algorithm: {type: linear_lower_is_better,
  normalization: {fixedRange: {min: 10, max: 90}}}}}
- {type: endpoint-attribute-scorer, name: warmth, parameters: {attributeKey: Heat,
  algorithm: {type: linear_higher_is_better, normalization: {adaptiveRange: {}}}}}
- {type: queue-scorer}
- {type: metrics-data-source}
- {type: core-metrics-extractor, parameters: {engineConfigs: [{name: vllm,
  queuedRequestsSpec: "vllm:num_requests_waiting", runningRequestsSpec: "vllm:num_requests_running",
  kvUsageSpec: "vllm:kv_cache_usage_perc", cacheInfoSpec: "vllm:cache_config_info",
  customMetrics: [{attributeKey: Heat, metricSpec: heat}]}]}}
`, "endpoint-attribute-filter", "endpoint-attribute-scorer 2", "warmth 0.7", "queue-scorer") + `dataLayer:
  sources:
  - {pluginRef: metrics-data-source, extractors: [{pluginRef: core-metrics-extractor}]}
`},
	{name: "sessions", next: sessions, text: one(`
- {type: session-affinity-scorer, parameters: {strategy: session_id}}
- {type: queue-scorer}
`, "session-affinity-scorer 2", "queue-scorer")},
	{name: "sessions as a filter", next: sessions, labels: tiers, text: one(`
- {type: session-affinity-filter, parameters: {strategy: session_id}}
- {type: utilization-filter, parameters: {conditions: [{metric: waiting-queue, maxValue: 12}], fallbackOnEmpty: true}}
- {type: queue-scorer}
`, "utilization-filter", "session-affinity-filter", "queue-scorer")},
	{name: "sessions of a producer", next: with("x-user", "", "ann", "bob", "cy ", "dee"), text: one(`
- {type: session-id-producer, parameters: {headerName: x-user}}
- {type: session-affinity-scorer, parameters: {strategy: session_id,
  sessionIdConfig: {sources: [{header: x-session-id}, {attribute: SessionIDDataKey, producer: session-id-producer}]}}}
- {type: queue-scorer}
`, "session-affinity-scorer 2", "queue-scorer")},
	{name: "sessions of agents", next: with("x-claude-code-session-id", "", "one", "two", "three"), text: one(`
- {type: agent-identity}
- {type: session-affinity-scorer, parameters: {strategy: session_id,
  sessionIdConfig: {sources: [{attribute: agent-identity}]}}}
- {type: queue-scorer}
`, "session-affinity-scorer 2", "queue-scorer")},
	{name: "tokens of sessions", next: tokens, text: one(`
- {type: session-affinity-scorer}
- {type: queue-scorer}
`, "session-affinity-scorer 2", "queue-scorer")},
	{name: "tokens of sessions as a filter", next: tokens, text: one(`
- {type: session-affinity-filter}
- {type: queue-scorer}
`, "session-affinity-filter", "queue-scorer")},
	{name: "servers by name", next: named, text: one(`
- {type: header-based-testing-filter}
- {type: queue-scorer}
`, "header-based-testing-filter", "queue-scorer")},
	{name: "subsets", next: restricted, atOneAddress: 2, text: one(`
- {type: queue-scorer}
`, "queue-scorer")},
}

func tiers(i int) map[string]string {
	return []map[string]string{{"tier": "gold", "zone": "a"}, {"tier": "gold", "zone": "b"}, {"tier": "gold"},
		{"tier": "gold", "zone": "a", "old": ""}, {"tier": "iron", "zone": "a"}, {"zone": "c"}}[i]
}
