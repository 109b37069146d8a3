package main

// explained are the tests of whole decisions.
var explained = []string{"./internal/explain"}

// sessions are the plug-ins that keep sessions at their endpoints.
var sessions = []string{"./scoring/scorers"}

var scoringMutants = []mutant{
	{file: "scoring/admission.go", name: "a target of weight 0 is chosen", before: "left < 0 {", after: "left <= 0 {"},
	{file: "scoring/admission.go", name: "stale endpoints have room", before: "\t\t\tsum++\n\t\t\tcontinue\n", after: "\t\t\tcontinue\n"},
	{file: "scoring/admission.go", name: "the smaller of queue and cache counts", before: "sum += max(float64(m.Waiting", after: "sum += min(float64(m.Waiting"},
	{file: "scoring/admission.go", name: "a rule for all comes before one with names",
		before: "\t\t\treturn rule\n\t\t}\n\t}\n\treturn general\n", after: "\t\t\tif general == nil {\n\t\t\t\treturn rule\n\t\t\t}\n\t\t}\n\t}\n\treturn general\n", tests: explained},
	{file: "scoring/decide.go", name: "priority 0 is shed", before: "c.priority() < 0 &&", after: "c.priority() <= 0 &&", tests: explained},
	{file: "scoring/decide.go", name: "weights are not applied", before: "totals[i] += score * s.weight", after: "totals[i] += score", tests: explained},
	{file: "scoring/decide.go", name: "scores above 1 count", before: "case score >= 1:\n\t\treturn 1", after: "case score >= 1:\n\t\treturn score", tests: explained},
	{file: "scoring/decide.go", name: "all failing endpoints are left out", before: "if failing == 0 || failing == len(c.candidates) {", after: "if failing == 0 {", tests: explained},
	{file: "scoring/decide.go", name: "unread requests go to failing endpoints", before: "return answers && !c.fails(e)\n", after: "return answers\n", tests: explained},
	{file: "scoring/decide.go", name: "unread requests go to stale endpoints", before: "return answers && !c.fails(e)\n", after: "return !c.fails(e)\n", tests: explained},
	{file: "scoring/load.go", name: "running requests are as sampled", before: "running := plus(e.Metrics.RunningRequests, started(e, since))", after: "running := e.Metrics.RunningRequests",
		tests: explained},
	{file: "scoring/load.go", name: "what is in flight does not run", before: "running = max(running, c.InFlight(e)-plus", after: "running = max(running, 0*c.InFlight(e)-plus", tests: explained},
	{file: "scoring/load.go", name: "a fresh request waits and runs", before: "since-started(e, since))\n}\n\n// Running", after: "since)\n}\n\n// Running", tests: explained},
	{file: "scoring/prompt.go", name: "a longer prefix than the last is not computed", before: "if p.most < most {", after: "if p.most == 0 {"},
	{file: "scoring/record.go", name: "prefill endpoint not journaled", before: "\t\tevent.Prefill = c.Pool.ID(prefill)\n", after: "", tests: explained},
	{file: "scoring/pickers/max_score_picker.go", name: "the first of equals always", before: "nth := c.Random.IntN(ties)", after: "nth := 0"},
	{file: "scoring/pickers/max_score_picker.go", name: "ties of an earlier best stay", before: "best, ties = i, 1\n\t\tcase", after: "best, ties = i, ties\n\t\tcase"},
	{file: "scoring/handlers/routing_strategy_handler.go", name: "repeated weights not capped",
		before: "min(h.weights[i]+weight, mostStrategyWeight)", after: "h.weights[i] + weight", tests: explained},
	{file: "scoring/handlers/routing_strategy_handler.go", name: "a weight of seven digits passes", before: "return weight, weight <= mostStrategyWeight", after: "return weight, true", tests: explained},
	{file: "scoring/headers/disagg_headers_handler.go", name: "the encode header may be forged",
		before: "\tb.OwnRequestHeader(h.EncodeHeader)\n", after: "", tests: explained},
	{file: "scoring/headers/disagg_headers_handler.go", name: "the prefill header may be forged",
		before: "\tb.OwnRequestHeader(h.PrefillHeader)\n", after: "", tests: explained},
	{file: "scoring/scorers/least_latency.go", name: "an unknown pace is none", before: "\tif perToken == 0 {\n\t\tperToken = s.perToken\n\t}\n", after: ""},
	{file: "scoring/internal/affinity/token.go", name: "a token's length is not bounded", before: " || len(text) > longestToken {", after: " {", tests: sessions},
	{file: "scoring/scorers/load_aware_scorer.go", name: "unknown is idle", before: "scores[i] = mostLoadAware / 2", after: "scores[i] = mostLoadAware", tests: explained},
	{file: "scoring/scorers/active_request_scorer.go", name: "idle at one more", before: "n > s.IdleThreshold {", after: "n > s.IdleThreshold+1 {", tests: explained},
	{file: "scoring/scorers/lora_affinity_scorer.go", name: "waiting adapters count as running", before: "case has(m.RunningLoRA):", after: "case has(m.RunningLoRA), has(m.WaitingLoRA):", tests: explained},
}
