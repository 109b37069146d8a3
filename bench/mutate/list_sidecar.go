package main

// whole are the tests of the sidecar as it runs.
var whole = []string{"./internal/sidecar"}

var sidecarMutants = []mutant{
	{file: "internal/sidecar/engine/parser.go", name: "KV usage not clamped", before: "number = min(max(number, 0), 1)", after: "number = min(number, 1)"},
	{file: "internal/sidecar/engine/parser.go", name: "the oldest LoRA series counts", before: "a.count > 0 && value <= a.time {", after: "a.count > 0 && value >= a.time {"},
	{file: "internal/sidecar/engine/parser.go", name: "an infinite value counts", before: "if math.IsNaN(number) || math.IsInf(number, 0) {", after: "if math.IsNaN(number) {"},
	{file: "internal/sidecar/engine/parser.go", name: "labels are not compared", before: "!ok || string(value) != matches[i].value {", after: "!ok {"},
	{file: "internal/sidecar/engine/parser.go", name: "adapters repeat", before: "if fits && !seen[name] {", after: "if fits {"},
	{file: "internal/sidecar/engine/parser.go", name: "adapters without bound", before: "if len(a.names) == maxAdapters {", after: "if len(a.names) == 1<<20 {"},
	{file: "internal/sidecar/engine/line.go", name: "escapes stay", before: "\t\tif c == 'n' {\n\t\t\tc = '\\n'\n\t\t}\n", after: ""},
	{file: "internal/sidecar/engine/line.go", name: "what follows a timestamp is overlooked", before: "return isInteger(timestamp) && len(skipBlanks(b)) == 0", after: "return isInteger(timestamp)"},
	{file: "internal/sidecar/file/file.go", name: "one read is enough", before: "if now == pending && now != known {", after: "if now != known {", tests: whole},
	{file: "internal/sidecar/dns/dns.go", name: "duplicates stay", before: "return slices.CompactFunc(found, func(a, b topology.Endpoint) bool { return a.Name == b.Name }), err",
		after: "return found, err"},
	{file: "internal/sidecar/dns/dns.go", name: "emits without a change", before: "case err == nil && (failing || now != last):", after: "case err == nil:"},
	{file: "internal/sidecar/dns/dns.go", name: "a name without records is a failure", before: "\tif isNotFound(err) {\n\t\tfound, err = nil, nil\n\t}\n", after: ""},
	{file: "internal/sidecar/kubernetes/endpoints.go", name: "a pod of two pools is there twice", before: "if !seen[e.Name] {", after: "if e.Name != \"\" {"},
	{file: "internal/sidecar/kubernetes/endpoints.go", name: "the engine's label is ignored", before: "engine != \"\" {\n\t\t\t\te.Engine", after: "engine == \"none\" {\n\t\t\t\te.Engine"},
	{file: "internal/sidecar/kubernetes/endpoints.go", name: "the pod's labels win over the pool's", before: "\t\tmerged[l.Key] = l.Value\n",
		after: "\t\tif merged[l.Key] == \"\" {\n\t\t\tmerged[l.Key] = l.Value\n\t\t}\n"},
	{file: "internal/sidecar/kubernetes/endpoints.go", name: "pods that are being deleted stay", before: "pod.DeletionTimestamp != nil || ", after: ""},
	{file: "internal/sidecar/kubernetes/rules.go", name: "of two objectives both hold", before: "&& !seen[object.GetName()] {", after: "{"},
	{file: "internal/sidecar/scrape/models.go", name: "models without bound", before: "return models[:min(len(models), maxModels)], nil", after: "return models, nil", tests: whole},
	{file: "internal/sidecar/pool/pool.go", name: "targets that left are scraped on", before: "\t\tt.stop()\n", after: "\t\t_ = t\n", tests: whole},
	{file: "internal/sidecar/pool/pool.go", name: "pushes before all sources were heard", before: "if slices.Contains(p.reported, false) {", after: "if !slices.Contains(p.reported, true) {", tests: whole},
	{file: "internal/sidecar/pool/pool.go", name: "a target stays although its engine changed", before: " && t.engine == e.Engine", after: "", tests: whole},
	{file: "internal/sidecar/scrape/scrape.go", name: "metrics of endpoints that left stay", before: "\ts.Metrics.Forget(t.Name)\n", after: "", tests: whole},
	{file: "internal/sidecar/push/push.go", name: "no pause after a refusal", before: "\tcase o.pause > 0:\n\t\treturn o.pause\n", after: "", tests: whole},
	{file: "internal/sidecar/push/state.go", name: "an accepted push is never too old", before: " && now.Sub(state.Accepted) <= within {", after: " {", tests: whole},
}
