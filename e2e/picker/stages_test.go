package picker

// stages are documents with several profiles.
var stages = []document{
	{name: "two stages", next: plain, labels: roles, text: several(`
- {type: disagg-profile-handler, parameters: {deciders: {prefill: always-disagg-pd-decider}}}
- {type: always-disagg-pd-decider}
- {type: decode-filter}
- {type: prefill-filter}
- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
`, profile("decode", "decode-filter", "queue-scorer 2", "kv-cache-utilization-scorer"),
		profile("prefill", "prefill-filter", "queue-scorer"))},
	{name: "two stages by older labels", next: plain, text: several(`
- {type: disagg-profile-handler, parameters: {deciderPluginName: always-disagg-pd-decider}}
- {type: disagg-headers-handler}
- {type: always-disagg-pd-decider}
- {type: by-label, name: decodes,
  parameters: {label: mif.moreh.io/role, validValues: [decode, both], allowsNoLabel: true}}
- {type: by-label, name: prefills, parameters: {label: mif.moreh.io/role, validValues: [prefill]}}
- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
`, profile("decode", "decodes", "queue-scorer 2", "kv-cache-utilization-scorer"),
		profile("prefill", "prefills", "queue-scorer")),
		labels: byNumber("mif.moreh.io/role", "decode", "prefill", "both", "prefill", "", "prefill")},
	{name: "a stage for what is not cached", next: plain, labels: roles, text: several(`
- {type: disagg-profile-handler, parameters: {deciders: {prefill: prefix-based-pd-decider}}}
- {type: prefix-based-pd-decider, parameters: {nonCachedTokens: 200, promptTokens: 300}}
- {type: decode-filter}
- {type: prefill-filter}
- {type: prefix-cache-scorer}
- {type: queue-scorer}
`, profile("decode", "decode-filter", "queue-scorer", "prefix-cache-scorer 2"),
		profile("prefill", "prefill-filter", "queue-scorer", "prefix-cache-scorer 2"))},
	{name: "requests in flight in two stages", next: plain, labels: roles, inFlight: 20, text: several(`
- {type: disagg-profile-handler, parameters: {deciders: {prefill: always-disagg-pd-decider}}}
- {type: always-disagg-pd-decider}
- {type: decode-filter}
- {type: prefill-filter}
- {type: active-request-scorer}
- {type: kv-cache-utilization-scorer}
`, profile("decode", "decode-filter", "active-request-scorer 2", "kv-cache-utilization-scorer"),
		profile("prefill", "prefill-filter", "active-request-scorer 2", "kv-cache-utilization-scorer"))},
	{name: "three stages", next: pictures, labels: roles, text: several(`
- {type: disagg-profile-handler, parameters: {deciders: {prefill: always-disagg-pd-decider,
  encode: always-disagg-multimodal-decider}}}
- {type: always-disagg-pd-decider}
- {type: always-disagg-multimodal-decider}
- {type: decode-filter}
- {type: prefill-filter}
- {type: encode-filter}
- {type: queue-scorer}
`, profile("decode", "decode-filter", "queue-scorer"), profile("prefill", "prefill-filter", "queue-scorer"),
		profile("encode", "encode-filter", "queue-scorer"))},
	{name: "prefill first", next: plain, labels: racks, comparable: onePrefill, text: several(`
- {type: disagg-profile-handler, parameters: {stageOrder: prefill-first}}
- {type: topology-extractor}
- {type: topology-affinity-scorer}
- {type: topology-affinity-filter, parameters: {minAffinity: zone}}
- {type: decode-filter}
- {type: prefill-filter}
- {type: queue-scorer}
`, profile("decode", "decode-filter", "topology-affinity-filter", "topology-affinity-scorer 2", "queue-scorer"),
		profile("prefill", "prefill-filter", "queue-scorer"))},
	{name: "ranks", next: plain, atOneAddress: 2, text: several(`
- {type: data-parallel-profile-handler, parameters: {primaryPort: 8000}}
- {type: queue-scorer}
`, profile("default", "queue-scorer"))},
	{name: "profiles by header", next: with("epp-profile", "", "quick", "free", "nobody"), text: several(`
- {type: header-profile-handler, parameters: {defaultProfile: quick}}
- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
`, profile("quick", "queue-scorer"), profile("free", "kv-cache-utilization-scorer"))},
}

// onePrefill: where decode goes by the server of prefill, this must be the only best one.
func onePrefill(p *pintle) bool { return len(best(p.totals["prefill"])) == 1 }

func several(plugins string, profiles ...string) string {
	text := one(plugins)
	text = text[:len(text)-len(profile("default"))]
	for _, p := range profiles {
		text += p
	}
	return text
}

func roles(i int) map[string]string {
	return byNumber("llm-d.ai/role", "decode", "prefill", "prefill-decode", "encode-prefill", "both", "encode")(i)
}

func racks(i int) map[string]string {
	labels := roles(i)
	labels["kubernetes.io/hostname"] = []string{"x", "x", "y", "y", "z", "z"}[i]
	labels["topology.kubernetes.io/rack"] = []string{"r", "r", "r", "s", "s", "s"}[i]
	labels["topology.kubernetes.io/zone"] = "a"
	return labels
}
