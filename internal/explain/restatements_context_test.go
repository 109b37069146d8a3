package explain_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// The label and the formulas of context-length-aware.
const contextLabel = "mif.moreh.io/context-length-range"

func contextParameters(r *rand.Rand) map[string]any {
	p := map[string]any{"enableFiltering": r.IntN(3) == 0}
	if r.IntN(2) == 0 {
		p["formula"] = []string{"heimdall", "llm-d"}[r.IntN(2)]
	}
	if r.IntN(3) == 0 {
		p["charToTokenMultiplier"] = []float64{0, 0.5, 1.3}[r.IntN(3)]
	}
	return p
}

func contextKeeps(p map[string]any, w *world, s *server) bool {
	label, ok := s.labels[contextLabel]
	if p["enableFiltering"] != true || !ok {
		return true
	}
	ranges, valid := contextRanges(label)
	length, covered := contextLength(p, w), false
	for _, r := range ranges {
		covered = covered || r[0] <= length && length <= r[1]
	}
	return valid && covered && (p["formula"] != "llm-d" || len(ranges) == 1)
}

func contextScores(p map[string]any, w *world, candidates []*server) map[string]float64 {
	scores := map[string]float64{}
	length := contextLength(p, w)
	for _, s := range candidates {
		label, ok := s.labels[contextLabel]
		ranges, valid := contextRanges(label)
		switch {
		case p["formula"] == "llm-d":
			scores[s.name] = contextLLMD(ok, valid, ranges, length)
		default:
			scores[s.name] = contextHeimdall(ok, valid, ranges, length)
		}
	}
	return scores
}

func contextHeimdall(labelled, valid bool, ranges [][2]float64, length float64) float64 {
	if !labelled {
		return 0.2
	}
	if !valid {
		return 0
	}
	best, above := -1.0, 0.0
	for _, r := range ranges {
		above = max(above, r[1])
		if length < r[0] || length > r[1] {
			continue
		}
		score, width := 0.7, r[1]-r[0]
		if width > 0 {
			score = 0.7*(1/(1+width/10000)) + 0.3*((r[1]-length)/width)
		}
		best = max(best, score, 0.5)
	}
	switch {
	case best >= 0:
		return best
	case length > above:
		return 0.25 + 0.25*(above/length)
	}
	return 0
}

func contextLLMD(labelled, valid bool, ranges [][2]float64, length float64) float64 {
	if !labelled {
		return 0.5
	}
	if !valid || len(ranges) != 1 {
		return 0
	}
	low, high := ranges[0][0], ranges[0][1]
	switch {
	case length > high:
		return 0.3 / (1 + (length-high)/1000)
	case length < low:
		return 0.3 / (1 + (low-length)/1000)
	case high == low:
		return 1
	}
	return 0.3 + 0.7*(0.7/(1+(high-low)/10000)+0.3*(high-length)/(high-low))
}

// contextLength is the whole tokens that the prompt's characters make.
func contextLength(p map[string]any, w *world) float64 {
	multiplier := 0.25
	if given, ok := p["charToTokenMultiplier"]; ok {
		multiplier = given.(float64)
	}
	return float64(int(float64(len([]rune(w.prompt))) * multiplier))
}

func contextRanges(label string) (ranges [][2]float64, valid bool) {
	for _, one := range strings.Split(label, ",") {
		ends := strings.Split(one, "-")
		if len(ends) != 2 {
			return nil, false
		}
		low, err := strconv.Atoi(strings.TrimSpace(ends[0]))
		if err != nil {
			return nil, false
		}
		high, err := strconv.Atoi(strings.TrimSpace(ends[1]))
		if err != nil || high < low {
			return nil, false
		}
		ranges = append(ranges, [2]float64{float64(low), float64(high)})
	}
	return ranges, true
}
