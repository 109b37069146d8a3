package replay

import (
	"math"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/scoring"
)

// TestMetrics: gateways see of servers what they had when the newest sample was taken, and the size of their caches as
// they tell it.
func TestMetrics(t *testing.T) {
	c, err := pluginconfig.Parse([]byte(random))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{SampleEvery: sampleEvery, Servers: Servers{Count: 1, MaxRunning: 2, BlockTokens: 16, Blocks: 100,
		ReportedBlocks: 70, PrefillTokensPerSecond: 1000, TimePerOutputToken: 10 * time.Millisecond}}
	w := newWorld(c.Plan, &o)
	metrics := &w.gateways[0].pool.Endpoints[0].Metrics
	want := scoring.Metrics{SampledAt: nanos(0), KVBlockTokens: 16, KVBlocks: 70, MaxRunning: 2}
	check := func(when string) {
		t.Helper()
		got := *metrics
		if got.KVCacheUsage = math.Round(100*got.KVCacheUsage) / 100; got.SampledAt != want.SampledAt ||
			got.WaitingRequests != want.WaitingRequests || got.RunningRequests != want.RunningRequests ||
			got.KVCacheUsage != want.KVCacheUsage || got.KVBlocks != want.KVBlocks ||
			got.KVBlockTokens != want.KVBlockTokens || got.MaxRunning != want.MaxRunning {
			t.Errorf("%s: got  %+v\nwant %+v", when, got, want)
		}
	}
	check("at the beginning")
	samples := make([]Sample, 3)
	for i := range samples {
		w.send(&Request{Input: 320, Output: 160, Prompt: uniquePrompt(uint64(i), 320)}, &samples[i])
	}
	w.sampleBefore(0.049)
	check("before the next sample")
	w.sampleBefore(0.12)
	want.SampledAt, want.WaitingRequests, want.RunningRequests, want.KVCacheUsage = nanos(0.1), 1, 2, 0.4
	check("after it")
}

// TestMetricsDecide: a configuration goes by the newest sample, so that requests go where few wait.
func TestMetricsDecide(t *testing.T) {
	const config = `{"config": {"plugins": [{"type": "queue-scorer"}]}, "load": {"correction": false}}`
	var requests []Request
	for i := range 200 {
		requests = append(requests, Request{At: 0.1 * float64(i), Input: 100, Output: 1,
			Prompt: uniquePrompt(uint64(i), 100)})
	}
	servers := DefaultServers()
	servers.Count, servers.MaxRunning, servers.PrefillTokensPerSecond = 2, 1, 1000
	slow := 0
	for _, s := range run(t, config, requests, Options{Servers: servers, Speeds: []float64{0.01}}) {
		if s.Server == 0 {
			slow++
		}
	}
	if slow > len(requests)/4 {
		t.Errorf("%d of %d requests go to the slow one of two servers, where others wait, want a fourth at most", slow,
			len(requests))
	}
}

// TestSpeeds: a slower server is slower in all that it does.
func TestSpeeds(t *testing.T) {
	servers := DefaultServers()
	servers.Count, servers.PrefillTokensPerSecond, servers.TimePerOutputToken = 1, 1000, 10*time.Millisecond
	requests := []Request{{Input: 1000, Output: 11, Stream: true, Prompt: uniquePrompt(1, 1000)}}
	s := run(t, random, requests, Options{Servers: servers, Speeds: []float64{0.5}})[0]
	if !(math.Abs(s.TTFT-2) <= 1e-6) || !(math.Abs(s.TPOT-0.02) <= 1e-6) {
		t.Errorf("at half the speed: got %v s to the first token and %v s for each, want 2 and 0.02", s.TTFT, s.TPOT)
	}
}

// TestNoTimeForTokens: servers that take no time for tokens end their answers as soon as they have begun.
func TestNoTimeForTokens(t *testing.T) {
	servers := DefaultServers()
	servers.PrefillTokensPerSecond, servers.TimePerOutputToken = 1000, 0
	requests := []Request{{Input: 1000, Output: 100, Stream: true, Prompt: uniquePrompt(1, 1000)}}
	if s := run(t, random, requests, Options{Servers: servers})[0]; s.Cut || !(math.Abs(s.Whole-1) <= 1e-6) {
		t.Errorf("got %+v, want the whole answer after a second", s)
	}
}

// TestHardlyAnyTimeForTokens: an answer ends in one step, however short its tokens are beside the time that has passed.
func TestHardlyAnyTimeForTokens(t *testing.T) {
	for _, token := range []time.Duration{time.Nanosecond, time.Microsecond, time.Millisecond} {
		like := DefaultServers()
		like.TimePerOutputToken = token
		s := newServer(0, &like, unheard{})
		for range 200 {
			s.advance(s.now + 34.1)
			s.send(&request{input: 100, output: 100, size: 16})
			steps := 0
			for ; steps < 10 && s.running() > 0; steps++ {
				s.step(s.next())
			}
			if steps != 2 {
				t.Fatalf("%v a token, after %v s: %d steps, want one to the first token and one to the end", token,
					s.now, steps)
			}
		}
	}
}
