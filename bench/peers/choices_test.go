package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
)

func TestChoice(t *testing.T) {
	c := choiceOf(occasion{Speed: 10}, &load.Result{Elapsed: time.Second, Samples: []load.Sample{
		{Status: 200, TTFT: 20 * time.Millisecond, Latency: time.Second, PromptTokens: 100, CachedTokens: 25,
			OutputTokens: 50, Server: "a"},
		{Status: 503, Err: "503"}}})
	want := choice{occasion: occasion{Speed: 10}, Requests: 2, TTFT: quantiles{0.2, 0.2, 0.2},
		Whole: quantiles{10, 10, 10}, Hits: 0.25, Good: 0.5, Imbalance: 8, Tokens: 5, Failed: 1}
	if *c != want {
		t.Errorf("got %+v, want %+v", *c, want)
	}
	if got := choiceOf(occasion{Speed: 1}, &load.Result{Samples: []load.Sample{{Err: "x"}}}); got.Hits != 0 {
		t.Errorf("got %+v, want no number that JSON lacks", got)
	}
}

// TestOccasions: what was measured before servers of another speed, where a gateway's own delay counts otherwise, is no
// row of the same table.
func TestOccasions(t *testing.T) {
	o := occasion{Workload: "shared", Fleet: "equal", Rate: 20, Speed: defaultSpeed}
	const usual = "shared at 20/s, servers: equal"
	if got := o.String(); got != usual {
		t.Errorf("got %q, want %q", got, usual)
	}
	o.Speed, o.MadeUp = 1, true
	const other = "shared (made up) at 20/s, servers: equal, 1 times as fast as real ones"
	if got := o.String(); got != other {
		t.Errorf("got %q, want %q", got, other)
	}
}

// TestChoiceOfMoreServers: answers may tell more names than there are servers.
func TestChoiceOfMoreServers(t *testing.T) {
	var samples []load.Sample
	for i := range ladderServers + 2 {
		samples = append(samples, load.Sample{Status: 200, Server: strings.Repeat("s", i)})
	}
	if c := choiceOf(occasion{Speed: 1}, &load.Result{Samples: samples}); c.Imbalance != 1 || c.Good != 1 {
		t.Errorf("got an imbalance of %v and %v good, want 1 and 1: each server had one", c.Imbalance, c.Good)
	}
}

// TestChoiceOfNoAnswer: who answers nothing is not ahead of those whose first tokens take some time.
func TestChoiceOfNoAnswer(t *testing.T) {
	c := choiceOf(occasion{Speed: 5}, &load.Result{Elapsed: 3 * time.Second,
		Samples: []load.Sample{{Status: 503, Err: "503"}, {Err: "EOF", TTFT: time.Millisecond}}})
	if want := (quantiles{15, 15, 15}); c.TTFT != want || c.Whole != want || c.Failed != 2 {
		t.Errorf("got first tokens after %v, whole answers after %v and %d failed, want as long as the run took, %v, "+
			"and 2", c.TTFT, c.Whole, c.Failed, want)
	}
}
