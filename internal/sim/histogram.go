package sim

import "time"

// Bucket bounds in seconds, as vLLM has them.
var (
	ttftBounds = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40,
		80,
		160, 640, 2560}
	tokenBounds = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40,
		80}
	stepBounds = []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
)

const maxBounds = 24

// histogram counts observations by upper bound. It is a plain value, so a copy is a snapshot.
type histogram struct {
	counts [maxBounds]uint64
	count  uint64
	sum    float64
}

func (h *histogram) observe(bounds []float64, d time.Duration) {
	seconds := d.Seconds()
	h.count++
	h.sum += seconds
	for i, bound := range bounds {
		if seconds <= bound {
			h.counts[i]++
			return
		}
	}
}

// stats are the counters behind /metrics. The engine's lock guards them.
type stats struct {
	promptTokens, generationTokens uint64
	cacheQueries, cacheHits        uint64
	stopped, lengths, aborted      uint64
	ttft, perToken, e2e            histogram
	queueTime, prefillTime         histogram
}

func (t *stats) admitted(s *sequence) {
	t.cacheQueries += uint64(s.promptTokens)
	t.cacheHits += uint64(s.cachedTokens)
	t.queueTime.observe(stepBounds, s.started.Sub(s.arrived))
}

func (t *stats) prefilled(s *sequence) {
	t.promptTokens += uint64(s.promptTokens)
	t.generationTokens += uint64(min(1, s.outputTokens))
	t.prefillTime.observe(stepBounds, s.firstToken.Sub(s.started))
	t.ttft.observe(ttftBounds, s.firstToken.Sub(s.arrived))
}

func (t *stats) finished(s *sequence, err error) {
	now := time.Now()
	switch {
	case err != nil:
		t.aborted++
		return
	case s.finishReason == "length":
		t.lengths++
	default:
		t.stopped++
	}
	t.e2e.observe(stepBounds, now.Sub(s.arrived))
	if s.outputTokens > 1 {
		t.perToken.observe(tokenBounds, now.Sub(s.firstToken)/time.Duration(s.outputTokens-1))
	}
}
