package picker

import "strconv"

// documents are what is compared. Pickers name all endpoints, so that their order shows.
var documents = []struct {
	name, text string
	// labels are those of the server of a number.
	labels func(i int) map[string]string
}{
	{"load", `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
- {type: running-requests-size-scorer}
- {type: load-aware-scorer, parameters: {threshold: 20}}
- {type: max-score-picker, parameters: {maxNumOfEndpoints: 6}}
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 1.5}
  - {pluginRef: running-requests-size-scorer}
  - {pluginRef: load-aware-scorer, weight: 0.7}
  - {pluginRef: max-score-picker}
`, nil},
	{"prefixes", `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
- {type: prefix-cache-scorer}
- {type: max-score-picker, parameters: {maxNumOfEndpoints: 6}}
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
  - {pluginRef: prefix-cache-scorer, weight: 3}
  - {pluginRef: max-score-picker}
`, nil},
	{"context lengths", `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- {type: context-length-aware, parameters: {label: range}}
- {type: kv-cache-utilization-scorer}
- {type: max-score-picker, parameters: {maxNumOfEndpoints: 6}}
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: context-length-aware, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer}
  - {pluginRef: max-score-picker}
`, func(i int) map[string]string {
		if i == 0 {
			return nil
		}
		return map[string]string{"range": strconv.Itoa(500*i-500) + "-" + strconv.Itoa(1200*i)}
	}},
	{"two stages", `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- {type: disagg-profile-handler, parameters: {deciders: {prefill: always-disagg-pd-decider}}}
- {type: always-disagg-pd-decider}
- {type: decode-filter}
- {type: prefill-filter}
- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
- {type: max-score-picker, parameters: {maxNumOfEndpoints: 6}}
schedulingProfiles:
- name: decode
  plugins:
  - {pluginRef: decode-filter}
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer}
  - {pluginRef: max-score-picker}
- name: prefill
  plugins:
  - {pluginRef: prefill-filter}
  - {pluginRef: queue-scorer}
  - {pluginRef: max-score-picker}
`, func(i int) map[string]string {
		return map[string]string{"llm-d.ai/role": []string{"decode", "prefill", "prefill-decode", "encode-prefill",
			"both", "decode"}[i]}
	}},
}
