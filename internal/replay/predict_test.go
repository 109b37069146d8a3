package replay

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/scoring"
)

const predicting = `{"plugins": [{"type": "prefix-cache-scorer"}, {"type": "predicted-latency-scorer"}]}`

// bursty are requests in bursts, half of them with the beginning of another one's prompt.
func bursty(seed uint64, n int, perSecond float64) (all []Request) {
	r := rand.New(rand.NewPCG(seed, 2))
	next, at := uint64(0), 0.0
	var open [][]uint64
	for i := range n {
		if i%8 == 0 {
			at += 8 / perSecond * 2 * r.Float64()
		}
		var blocks []uint64
		if len(open) > 8 && r.IntN(2) == 0 {
			blocks = slices.Clone(open[r.IntN(len(open))])
		}
		for range 1 + r.IntN(8) {
			next++
			blocks = append(blocks, next)
		}
		tokens := len(blocks) * mooncakeBlock
		all = append(all, Request{
			At: at + 0.05*r.Float64(), Model: traceModel, Input: tokens, Output: 20 + r.IntN(200), Stream: true,
			Prompt: Prompt{Bytes: tokens * bytesPerToken, UnitBytes: mooncakeBlock * bytesPerToken, Blocks: blocks},
		})
		if len(blocks) < 8 {
			open = append(open, blocks)
		}
	}
	return all
}

// predicted runs requests and returns the relative errors of what was predicted for those from the first-th on.
// before, when set, is called before each request.
func predicted(t *testing.T, requests []Request, o Options, first int, before func(w *world, at float64)) (ttft,
	tpot []float64, samples []Sample) {
	t.Helper()
	c, err := pluginconfig.Parse([]byte(predicting))
	if err != nil {
		t.Fatal(err)
	}
	o.SampleEvery = sampleEvery
	w := newWorld(c.Plan, &o)
	samples = make([]Sample, len(requests))
	expected := make([]scoring.Prediction, len(requests))
	for i := range requests {
		at := requests[i].At
		samples[i] = Sample{At: at, Server: -1}
		w.sampleBefore(at)
		w.advance(at)
		if before != nil {
			before(w, at)
		}
		w.send(&requests[i], &samples[i])
		for _, p := range w.gateways[0].cycle.Predictions() {
			if p.Endpoint.Index == samples[i].Server {
				expected[i] = p
			}
		}
	}
	w.drain(samples)
	for i := first; i < len(samples); i++ {
		ttft = append(ttft, math.Abs(expected[i].TTFT-samples[i].TTFT)/samples[i].TTFT)
		tpot = append(tpot, math.Abs(expected[i].TPOT-samples[i].TPOT)/samples[i].TPOT)
	}
	slices.Sort(ttft)
	slices.Sort(tpot)
	return ttft, tpot, samples
}

// TestPredicted: 200 requests after a cold start, in bursts, with cached prefixes, noise and two kinds of hardware, the
// time to first token is predicted with a median error of at most 15 %, and 40 % for nine of ten.
func TestPredicted(t *testing.T) {
	requests := bursty(2, 2000, 20)
	slices.SortStableFunc(requests, func(a, b Request) int { return int(math.Copysign(1, a.At-b.At)) })
	servers := DefaultServers()
	servers.Noise = 0.1
	o := Options{Servers: servers, Speeds: []float64{0.4, 0.4, 0.4, 0.4}, Seed: 1}
	ttft, tpot, _ := predicted(t, requests, o, 200, nil)
	median, most := ttft[len(ttft)/2], ttft[len(ttft)*9/10]
	t.Logf("TTFT: median error %.3f, nine of ten %.3f; TPOT: %.3f, %.3f", median, most, tpot[len(tpot)/2],
		tpot[len(tpot)*9/10])
	if median > 0.15 || most > 0.4 {
		t.Errorf("TTFT: median error %.3f, nine of ten %.3f; want at most 0.15 and 0.4", median, most)
	}
}

// TestSlower: 5 s after one of four servers becomes three times slower, it gets no more than three quarters of an equal
// share of requests, and of what has to be computed its part of the speed: a tenth.
func TestSlower(t *testing.T) {
	after, all, work, allWork := 0, 0, 0, 0
	for seed := range uint64(3) {
		for _, s := range afterSlower(t, seed) {
			all, allWork = all+1, allWork+s.Input-s.Cached
			if s.Server == 0 {
				after, work = after+1, work+s.Input-s.Cached
			}
		}
	}
	t.Logf("%d of %d requests, %d of %d tokens", after, all, work, allWork)
	if after*4 > all*3/4 || work*10 > allWork {
		t.Errorf("the slower one of four got %d of %d requests and %d of %d tokens, want at most 3/16 and a tenth",
			after, all, work, allWork)
	}
}

// afterSlower is what became of the requests from 5 s after on.
func afterSlower(t *testing.T, seed uint64) (found []Sample) {
	t.Helper()
	requests := bursty(seed, 1600, 16)
	slices.SortStableFunc(requests, func(a, b Request) int { return int(math.Copysign(1, a.At-b.At)) })
	servers := DefaultServers()
	servers.Count = 4
	const slows, settles, looks = 60.0, 5.0, 30.0
	slower := false
	_, _, samples := predicted(t, requests, Options{Servers: servers, Seed: 1}, 0, func(w *world, at float64) {
		if at >= slows && !slower {
			slower = true
			w.servers[0].PrefillTokensPerSecond /= 3
			w.servers[0].TimePerOutputToken *= 3
		}
	})
	for _, s := range samples {
		if s.At > slows+settles && s.At < slows+settles+looks {
			found = append(found, s)
		}
	}
	return found
}
