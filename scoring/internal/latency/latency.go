// Package latency scores endpoints by what is predicted for them.
package latency

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

const (
	// costTokens is how many tokens of the answer count, by their time, beside the first one.
	costTokens = 10
	// alike is how much more an endpoint may cost than the best one, as a part of that, and still be as good.
	alike = 0.15
	// own is how many times the request's own tokens count beside those in flight, among endpoints as good as the best:
	// what they take the place of in a cache has to be computed again.
	own = 4
	// delay is how many times the time counts in which the endpoint computes the request's prompt, for each request
	// that waits everywhere.
	delay = 3
	// second is the score of endpoints that are as good as the best.
	second = 0.9999
)

// Fastest scores by predicted time, for which there is no objective: 1 for one endpoint, a hair less for those that
// cost up to 15 % more than the cheapest, and then down to 0 for the dearest. The cost is ttftWeight x (TTFT + 3 x w x
// the time in which the prompt is computed) + tpotWeight x 10 x TPOT, w being the requests that wait at every endpoint:
// who comes behind them is delayed by that time. The 1 goes to the one among those as good as the best that has the
// least to compute: tokens in flight + 4 x the request's own, in its time for each. Of several that have as little it
// is the one that was sent a request the longest ago.
func Fastest(c *scoring.Cycle, predictions []scoring.Prediction, ttftWeight, tpotWeight float64, scores []float64) {
	best, worst, waiting := math.Inf(1), 0.0, math.MaxInt
	for i := range predictions {
		if n := predictions[i].Unbegun; n < waiting {
			if waiting = n; n == 0 {
				break
			}
		}
	}
	delayed, perToken := delay*float64(waiting), tpotWeight*costTokens
	scores = scores[:len(predictions)]
	for i := range predictions {
		p := &predictions[i]
		cost := ttftWeight*(p.TTFT+delayed*p.Load*p.PerToken) + perToken*p.TPOT
		scores[i] = cost
		if cost < best {
			best = cost
		}
		if cost > worst {
			worst = cost
		}
	}
	limit := best * (1 + alike)
	first, least, sent, part := -1, math.Inf(1), int64(0), second/(worst-limit)
	for i, cost := range scores {
		if cost > limit {
			scores[i] = part * (worst - cost)
			continue
		}
		scores[i] = second
		p := &predictions[i]
		work := (float64(c.TokensInFlight(p.Endpoint)) + own*p.Load) * p.PerToken
		if work > least {
			continue
		}
		if last := c.LastSent(p.Endpoint); work < least || last < sent {
			first, least, sent = i, work, last
		}
	}
	if first >= 0 {
		scores[first] = 1
	}
}

// Judged reports whether an objective counts at any of the endpoints: one for the time per token alone may not.
func Judged(predictions []scoring.Prediction) bool {
	for i := range predictions {
		if p := &predictions[i]; p.TTFTRoom != 0 || p.TPOTRoom != 0 {
			return true
		}
	}
	return false
}

// Blend sets scores[i] to weighted means of the two rooms of the predictions that are in, without their signs, each
// brought to 0..1 by its range among them. One without a range, where all are equal, leaves all to the other; without
// either range that is 0.5. Without weights the time to first token counts alone. The others it leaves alone.
func Blend(predictions []scoring.Prediction, in []bool, ttftWeight, tpotWeight float64, scores []float64) {
	ttft, tpot := span{math.Inf(1), math.Inf(-1)}, span{math.Inf(1), math.Inf(-1)}
	for i := range predictions {
		if p := &predictions[i]; in[i] {
			ttft.add(p.TTFTRoom)
			tpot.add(p.TPOTRoom)
		}
	}
	switch {
	case ttft.empty():
		ttftWeight, tpotWeight = 0, 1
	case tpot.empty() || ttftWeight+tpotWeight <= 0:
		ttftWeight, tpotWeight = 1, 0
	}
	sum := ttftWeight + tpotWeight
	for i := range predictions {
		if p := &predictions[i]; in[i] {
			scores[i] = (ttftWeight*ttft.of(p.TTFTRoom) + tpotWeight*tpot.of(p.TPOTRoom)) / sum
		}
	}
}

// span is a range of absolute values.
type span struct{ least, most float64 }

func (s *span) add(v float64) { s.least, s.most = min(s.least, math.Abs(v)), max(s.most, math.Abs(v)) }

func (s *span) empty() bool { return !(s.most-s.least > 1e-9) }

func (s *span) of(v float64) float64 {
	if s.empty() {
		return 0.5
	}
	return (math.Abs(v) - s.least) / (s.most - s.least)
}

// Tier marks in in those of the predictions that compete, and reports whether they meet the objective. Without any that
// do, those without a request in flight compete; else those that miss the time per token alone; else those that miss
// the time to first token alone; else all.
func Tier(c *scoring.Cycle, predictions []scoring.Prediction, in []bool) (met bool) {
	for tier := range 5 {
		any := false
		for i := range predictions {
			p := &predictions[i]
			switch tier {
			case 0:
				in[i] = p.Meets()
			case 1:
				in[i] = c.InFlight(p.Endpoint) == 0
			case 2:
				in[i] = p.TTFTRoom >= 0
			case 3:
				in[i] = p.TPOTRoom >= 0
			default:
				in[i] = true
			}
			any = any || in[i]
		}
		if any {
			return tier == 0
		}
	}
	return false
}

// Composite are the weights of what is gone by where nothing can be predicted.
type Composite struct {
	KV, Queue, Prefix float64
	// matches tell what is cached, where the document has producers of them.
	matches scoring.MatchKey
}

// Read reads the three weights.
func (w *Composite) Read(b *scoring.Builder) {
	*w = Composite{KV: 1, Queue: 1, Prefix: 1}
	if b.Defaults().PrefixProducers {
		w.matches = b.UsualPrefixMatches()
	}
	b.Float("compositeKVWeight", &w.KV, 0, 1e6)
	b.Float("compositeQueueWeight", &w.Queue, 0, 1e6)
	b.Float("compositePrefixWeight", &w.Prefix, 0, 1e6)
	if w.KV+w.Queue+w.Prefix == 0 {
		w.KV = 1 // as llm-d has it
	}
}

// Score sets scores[i] to the weighted mean of the free part of the KV cache, the free part of the longest queue and
// the part of the prompt that is cached, in hundredths. A server without fresh metrics counts as half used.
func (w *Composite) Score(c *scoring.Cycle, predictions []scoring.Prediction, scores []float64) {
	longest := 0
	for i := range predictions {
		if e := predictions[i].Endpoint; c.Fresh(e) {
			longest = max(longest, c.Waiting(e))
		}
	}
	prompt, sum := float64(c.PromptTokens()), w.KV+w.Queue+w.Prefix
	matches := c.PrefixMatches(w.matches)
	for i := range predictions {
		e, kv, queue, prefix := predictions[i].Endpoint, 0.5, 0.5, 0.0
		if c.Fresh(e) {
			kv, queue = 1-e.Metrics.KVCacheUsage, 1
			if longest > 0 {
				queue = float64(longest-c.Waiting(e)) / float64(longest)
			}
		}
		switch {
		case matches.Blocks > 0:
			prefix = float64(matches.Matched(e)) / float64(matches.Blocks)
		case prompt > 0:
			prefix = 1 - min(predictions[i].Uncached/prompt, 1)
		}
		scores[i] = math.Round(100*(w.KV*kv+w.Queue*queue+w.Prefix*prefix)/sum) / 100
	}
}
