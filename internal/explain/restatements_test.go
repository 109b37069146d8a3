package explain_test

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
)

// restatement says what a plug-in does a second time, from its documented formula alone: plain loops over plain values,
// nothing shared with the plug-in. A new plug-in adds one entry to restatements.
type restatement struct {
	// parameters makes random parameters; nil stands for none.
	parameters func(r *rand.Rand) map[string]any
	// keeps is for filters.
	keeps func(parameters map[string]any, w *world, s *server) bool
	// scores is for scorers. It returns a score for each candidate's name.
	scores func(parameters map[string]any, w *world, candidates []*server) map[string]float64
}

// restatements are the filters and scorers, by type.
var restatements = map[string]restatement{
	"by-label":                     {parameters: byLabelParameters, keeps: byLabelKeeps},
	"by-label-selector":            {parameters: selectorParameters, keeps: selectorKeeps},
	"decode-filter":                {keeps: roleKeeps(true, "decode", "both")},
	"encode-filter":                {keeps: roleKeeps(false, "encode", "encode-prefill", "encode-prefill-decode")},
	"prefill-filter":               {keeps: roleKeeps(false, "prefill")},
	"queue-scorer":                 {scores: fewestOf(func(s *server) float64 { return s.waiting })},
	"running-requests-size-scorer": {scores: fewestOf(func(s *server) float64 { return s.running })},
	"kv-cache-utilization-scorer":  {scores: kvCacheScores},
	"load-aware-scorer":            {parameters: loadAwareParameters, scores: loadAwareScores},
	"lora-affinity-scorer":         {scores: loraScores},
	"session-affinity-scorer":      {scores: sessionScores},
	"context-length-aware":         {parameters: contextParameters, keeps: contextKeeps, scores: contextScores},
}

func byLabelParameters(r *rand.Rand) map[string]any {
	p := map[string]any{"label": []string{"zone", "rack"}[r.IntN(2)], "validValues": []any{"1", "2"}[:1+r.IntN(2)]}
	if r.IntN(2) == 0 {
		p["allowsNoLabel"] = r.IntN(2) == 0
	}
	return p
}

func byLabelKeeps(p map[string]any, _ *world, s *server) bool {
	value, ok := s.labels[p["label"].(string)]
	if !ok {
		return p["allowsNoLabel"] == true
	}
	for _, valid := range p["validValues"].([]any) {
		if valid == value {
			return true
		}
	}
	return false
}

// selectorParameters makes a condition or two of every kind.
func selectorParameters(r *rand.Rand) map[string]any {
	p := map[string]any{}
	if r.IntN(2) == 0 {
		p["matchLabels"] = map[string]any{"zone": []string{"1", "2"}[r.IntN(2)]}
	}
	requirement := map[string]any{"key": []string{"zone", "rack"}[r.IntN(2)]}
	switch r.IntN(4) {
	case 0:
		requirement["operator"], requirement["values"] = "In", []any{"1", "3"}
	case 1:
		requirement["operator"], requirement["values"] = "NotIn", []any{"1", "3"}
	case 2:
		requirement["operator"] = "Exists"
	case 3:
		requirement["operator"] = "DoesNotExist"
	}
	p["matchExpressions"] = []any{requirement}
	return p
}

func selectorKeeps(p map[string]any, _ *world, s *server) bool {
	pairs, _ := p["matchLabels"].(map[string]any)
	for key, want := range pairs {
		if value, ok := s.labels[key]; !ok || value != want {
			return false
		}
	}
	for _, entry := range p["matchExpressions"].([]any) {
		requirement := entry.(map[string]any)
		value, has := s.labels[requirement["key"].(string)]
		values, _ := requirement["values"].([]any)
		among := has && slices.Contains(values, any(value))
		if !map[string]bool{"In": among, "NotIn": !among, "Exists": has,
			"DoesNotExist": !has}[requirement["operator"].(string)] {
			return false
		}
	}
	return true
}

func roleKeeps(none bool, roles ...string) func(map[string]any, *world, *server) bool {
	return func(_ map[string]any, _ *world, s *server) bool {
		role, ok := s.labels["mif.moreh.io/role"]
		return !ok && none || ok && slices.Contains(roles, role)
	}
}

// fewestOf is (max - n) / (max - min), 1 when all are equal, 0.5 for a server without fresh metrics.
func fewestOf(n func(*server) float64) func(map[string]any, *world, []*server) map[string]float64 {
	return func(_ map[string]any, w *world, candidates []*server) map[string]float64 {
		var counts []float64
		for _, s := range candidates {
			if w.fresh(s) {
				counts = append(counts, n(s))
			}
		}
		slices.Sort(counts)
		scores := map[string]float64{}
		for _, s := range candidates {
			if !w.fresh(s) {
				scores[s.name] = 0.5
				continue
			}
			scores[s.name] = 1
			if least, most := counts[0], counts[len(counts)-1]; least != most {
				scores[s.name] = (most - n(s)) / (most - least)
			}
		}
		return scores
	}
}

func kvCacheScores(_ map[string]any, w *world, candidates []*server) map[string]float64 {
	scores := map[string]float64{}
	for _, s := range candidates {
		scores[s.name] = 0.5
		if w.fresh(s) {
			scores[s.name] = 1 - s.kvCacheUsage
		}
	}
	return scores
}

func loadAwareParameters(r *rand.Rand) map[string]any {
	if r.IntN(3) == 0 {
		return nil
	}
	return map[string]any{"threshold": 1 + r.IntN(6)}
}

// loadAwareScores is 0.5 x (1 - min(waiting, threshold) / threshold), half of the most without fresh metrics.
func loadAwareScores(p map[string]any, w *world, candidates []*server) map[string]float64 {
	threshold := 128.0
	if given, ok := p["threshold"]; ok {
		threshold = float64(given.(int))
	}
	scores := map[string]float64{}
	for _, s := range candidates {
		scores[s.name] = 0.25
		if w.fresh(s) {
			scores[s.name] = max(0, (threshold-s.waiting)/threshold/2)
		}
	}
	return scores
}

// loraScores is 1 where the adapter is active, 0.8 with room for one more, 0.6 where it waits, 0.5 where the room is
// not known, else 0. A server that has reported nothing has all its room.
func loraScores(_ map[string]any, w *world, candidates []*server) map[string]float64 {
	scores := map[string]float64{}
	for _, s := range candidates {
		score := 0.0
		if s.maxLora == 0 {
			score = 0.5
		}
		if slices.Contains(s.waitingLora, w.model) {
			score = 0.6
		}
		if n := len(s.runningLora) + len(s.waitingLora); n < s.maxLora || n == 0 {
			score = 0.8
		}
		if slices.Contains(s.runningLora, w.model) {
			score = 1
		}
		if !w.fresh(s) {
			score = 0.5
		}
		scores[s.name] = score
	}
	return scores
}

// sessionScores is 1 for the server that the token names.
func sessionScores(_ map[string]any, w *world, candidates []*server) map[string]float64 {
	scores := map[string]float64{}
	for _, s := range candidates {
		scores[s.name] = 0
		if w.headers["x-session-token"] == base64.StdEncoding.EncodeToString([]byte(s.name)) {
			scores[s.name] = 1
		}
	}
	return scores
}
