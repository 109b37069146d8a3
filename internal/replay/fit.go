package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fit takes the servers' figures from what was recorded, as far as that tells: from streams the speed of prefill and
// the pace of answers alone and beside others, from all requests the size of the cache. fixed names the flags that were
// given, which stay. It says what it found.
func (t *Trace) Fit(s *Servers, fixed func(flag string) bool) string {
	samples := t.Recorded()
	if len(samples) == 0 {
		return ""
	}
	var found []string
	if speed, ok := fitPrefill(samples); ok && !fixed("prefill-tokens-per-second") {
		s.PrefillTokensPerSecond = speed
		found = append(found, "prefill")
	}
	if token, slowdown, ok := fitDecode(samples); ok {
		if !fixed("time-per-output-token") {
			s.TimePerOutputToken = token
			found = append(found, "pace")
		}
		if !fixed("batch-slowdown") {
			s.BatchSlowdown = slowdown
			found = append(found, "slowdown")
		}
	}
	if blocks, ok := t.fitRoom(s); ok && !fixed("num-blocks") {
		s.Blocks = blocks
		found = append(found, "cache")
	}
	told := "the recording does not tell what its servers are like: their figures are given or defaults"
	if len(found) > 0 {
		told = "fitted from the recording: " + strings.Join(found, ", ")
	}
	return told + t.tooFew() + t.uncached(s)
}

// uncached says where servers told of their caches that nothing was found there, as with prefix caching off, and the
// replay's find something.
func (t *Trace) uncached(s *Servers) string {
	known := 0
	for i := range t.Requests {
		if r := t.Requests[i].Recorded; r.Cached > 0 {
			return ""
		} else if r.CachedKnown {
			known++
		}
	}
	if known < enoughSamples || t.cachedWith(s, s.Blocks) == 0 {
		return ""
	}
	return "; the recorded servers found nothing cached, and those of the replay do"
}

// tooFew says what there are too few of to tell how fast servers are. The times of answers that are no streams, which
// are those of whole answers with all that they waited, do not part prefill from decoding; and how long a prompt took
// that may have been cached tells nothing of how fast others are.
func (t *Trace) tooFew() string {
	streams, known := 0, 0 // known are those of which servers told what they had cached of the prompt
	for i := range t.Requests {
		if t.Requests[i].Stream {
			streams++
			if t.Requests[i].Recorded.CachedKnown {
				known++
			}
		}
	}
	switch {
	case streams < enoughSamples:
		return fmt.Sprintf("; %d of %d answers are streams, too few to fit prefill, pace and slowdown", streams,
			len(t.Requests))
	case known < enoughSamples:
		return fmt.Sprintf("; %d of %d streams tell what was cached of their prompts, too few to fit prefill", known,
			streams)
	}
	return ""
}

// enoughSamples is how many requests must tell of a figure.
const enoughSamples = 20

// fitPrefill is the speed at which the quickest tenth of prompts were processed that are known to have had many tokens
// to compute: the others waited.
func fitPrefill(samples []Sample) (tokensPerSecond float64, ok bool) {
	const many, quickest = 256, 0.9
	var speeds []float64
	for i := range samples {
		if s := &samples[i]; !s.CachedUnknown && s.Input-s.Cached >= many && s.TTFT > 0 {
			speeds = append(speeds, float64(s.Input-s.Cached)/s.TTFT)
		}
	}
	if len(speeds) < enoughSamples {
		return 0, false
	}
	slices.Sort(speeds)
	return speeds[int(quickest*float64(len(speeds)))], true
}

// fitDecode fits TPOT = a (1 + b (n - 1)) by least squares, where n is how many requests the server had on average
// meanwhile. An answer that was cut tells no pace: it may have hung for as long as its client or Envoy waited for more.
func fitDecode(samples []Sample) (token time.Duration, slowdown float64, ok bool) {
	const least = 8 // output tokens
	var n, sumX, sumY, sumXX, sumXY float64
	beside := concurrency(samples)
	for i := range samples {
		s := &samples[i]
		if s.Output < least || s.TPOT <= 0 || s.Cut {
			continue
		}
		x := beside[i] - 1
		n, sumX, sumY, sumXX, sumXY = n+1, sumX+x, sumY+s.TPOT, sumXX+x*x, sumXY+x*s.TPOT
	}
	if n < enoughSamples {
		return 0, 0, false
	}
	a, b := sumY/n, 0.0
	if spread := n*sumXX - sumX*sumX; spread > 1e-3*n*n {
		b = max((n*sumXY-sumX*sumY)/spread, 0)
		a = (sumY - b*sumX) / n
	}
	if a <= 0 {
		a, b = sumY/n, 0
	}
	return time.Duration(a * float64(time.Second)), b / a, true
}

// concurrency is, for each sample, how many requests its server had on average while it answered, itself included.
func concurrency(samples []Sample) []float64 {
	type step struct {
		at    float64
		delta float64
	}
	steps := map[int][]step{}
	for i := range samples {
		s := &samples[i]
		steps[s.Server] = append(steps[s.Server], step{s.At, 1}, step{s.At + s.Whole, -1})
	}
	// area is the integral of the number of requests up to each step.
	type curve struct{ at, area, level []float64 }
	curves := map[int]*curve{}
	for server, all := range steps {
		slices.SortFunc(all, func(a, b step) int { return cmp.Compare(a.at, b.at) })
		c := &curve{}
		area, level, last := 0.0, 0.0, 0.0
		for _, s := range all {
			area += level * (s.at - last)
			level, last = level+s.delta, s.at
			c.at, c.area, c.level = append(c.at, s.at), append(c.area, area), append(c.level, level)
		}
		curves[server] = c
	}
	upTo := func(c *curve, t float64) float64 {
		i, _ := slices.BinarySearch(c.at, t)
		if i == 0 {
			return 0
		}
		return c.area[i-1] + c.level[i-1]*(t-c.at[i-1])
	}
	result := make([]float64, len(samples))
	for i := range samples {
		s := &samples[i]
		from, to := s.At+s.TTFT, s.At+s.Whole
		if result[i] = 1; to > from {
			c := curves[s.Server]
			result[i] = max((upTo(c, to)-upTo(c, from))/(to-from), 1)
		}
	}
	return result
}

// fitRoom is the size of the cache, which has room for the longest of the requests, as they were answered; ok is false
// when nothing tells of another one than that of s.
func (t *Trace) fitRoom(s *Servers) (blocks int, ok bool) {
	if blocks, ok = t.fitCache(s); !ok {
		blocks = s.Blocks
	}
	for i := range t.Requests {
		if needed := requestOf(&t.Requests[i], s.BlockTokens).blocks(); needed > blocks {
			blocks, ok = needed, true
		}
	}
	return blocks, ok
}

// fitCache is the size at which the recorded requests, at the servers that had them, find as much as was reported; ok
// is false when that was not reported, or when nothing was forgotten and s has room for it all.
func (t *Trace) fitCache(s *Servers) (blocks int, ok bool) {
	reported, known := 0, 0
	for i := range t.Requests {
		if r := t.Requests[i].Recorded; r.CachedKnown {
			known++
			reported += r.Cached
		}
	}
	if known < enoughSamples || reported == 0 {
		return 0, false
	}
	const least, most = 6, 24 // powers of two
	all := t.cachedWith(s, 1<<most)
	if float64(all) <= float64(reported)*1.01 { // nothing was ever forgotten
		if reported = min(reported, all); t.cachedWith(s, s.Blocks) >= reported {
			return 0, false
		}
	}
	low, high := 1<<least, 1<<most
	for high-low > low/64 {
		middle := low + (high-low)/2
		if t.cachedWith(s, middle) < reported {
			low = middle
		} else {
			high = middle
		}
	}
	return high, true
}

// cachedWith is how many tokens the recorded requests find in caches of so many blocks, one after another.
func (t *Trace) cachedWith(s *Servers, blocks int) (tokens int) {
	caches := make([]*cache, max(len(t.Endpoints), 1))
	for i := range caches {
		caches[i] = newCache(blocks)
	}
	for i := range t.Requests {
		q := requestOf(&t.Requests[i], s.BlockTokens)
		c := caches[t.Requests[i].Recorded.Server]
		hits, ok := c.admit(q)
		if !ok {
			continue
		}
		if hits > 0 && t.Requests[i].Recorded.CachedKnown {
			tokens += q.found(hits)
		}
		c.release(q)
	}
	return tokens
}
