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

// TestGoodIsInServersTime: how soon an answer has to come is of servers at their real speed, as all figures are. What
// was not sent counts as failed.
func TestGoodIsInServersTime(t *testing.T) {
	sample := func(ttft, tpot time.Duration) load.Sample {
		return load.Sample{Status: 200, Server: "a", TTFT: ttft, TPOT: tpot, Latency: time.Minute}
	}
	c := choiceOf(occasion{Speed: 10}, &load.Result{Elapsed: time.Second, Dropped: 2, Samples: []load.Sample{
		sample(200*time.Millisecond, 5*time.Millisecond), sample(201*time.Millisecond, 5*time.Millisecond),
		sample(200*time.Millisecond, 6*time.Millisecond), {Err: "EOF"}}})
	if c.Good != 0.25 || c.Failed != 3 {
		t.Errorf("got %v good and %d failed, want 0.25 and 3", c.Good, c.Failed)
	}
}

// TestLead: who is ahead by little is not said to be.
func TestLead(t *testing.T) {
	less := figure[int]{title: "p90", format: "%.2f"}
	more := figure[int]{title: "rate", format: "%.0f", more: true}
	points := figure[int]{title: "hits", format: "%.1f", more: true, points: true}
	said := figure[int]{title: "over Pintle's", format: "%.2f", points: true}
	for _, test := range []struct {
		name         string
		figure       figure[int]
		mine, theirs float64
		want         string
	}{
		{"less is better", less, 1, 0.96, "p90 0.96 beside 1.00"}, {"hardly less", less, 1, 0.98, ""},
		{"more", less, 1, 2, ""}, {"more is better", more, 100, 104, "rate 104 beside 100"},
		{"hardly more", more, 100, 102, ""}, {"a tenth of a point", points, 50, 50.125, "hits 50.1 beside 50.0"},
		{"less than that", points, 50, 50.0625, ""}, {"fewer points", points, 50, 49, ""},
		{"said already", said, 1, 0.5, ""},
	} {
		if got := test.figure.lead(test.mine, test.theirs); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// TestRelate: a round is compared with Pintle's round of the same number, in the same go.
func TestRelate(t *testing.T) {
	var records []record
	for round, perSecond := range []float64{0, 100, 400} {
		for _, peer := range []string{"pintle", "smg"} {
			c := &cost{Round: round, PerSecond: perSecond, CPU: 2}
			if peer == "smg" {
				c.PerSecond, c.CPU = 200, 1
			}
			records = append(records, record{Go: "a", Peer: peer, Cost: c})
		}
	}
	relate(records)
	for i, want := range map[int]float64{2: 1, 3: 2, 4: 1, 5: 0.5} {
		if c := records[i].Cost; c.share != want {
			t.Errorf("%s, round %d: got %v of Pintle's requests/s, want %v", records[i].Peer, c.Round, c.share, want)
		}
	}
	if got := records[3].Cost.cpuShare; got != 0.5 {
		t.Errorf("got %v of Pintle's processor time, want 0.5", got)
	}
}

// TestReplayedTraffic: in virtual time, too, requests that warm up do not count, and all others do.
func TestReplayedTraffic(t *testing.T) {
	body := load.Uniform{Model: model, Bytes: 200}.Requests()
	several := append(append([]load.Request{}, body[0], body[0]), body[0])
	for _, test := range []struct {
		name    string
		traffic []part
		counted int
	}{
		{"a warm-up at a rate of its own", []part{{rate: 10, warmsUp: true, load: load.Config{Requests: several}},
			{rate: 5, load: load.Config{Requests: several}}}, 3},
		{"the first third of the time", []part{{counted: time.Second, load: load.Config{Requests: several,
			Due: []time.Duration{0, time.Second, 3 * time.Second}}}}, 2},
	} {
		all, warm := replayed(test.traffic, 1)
		counted := 0
		for i := range all {
			if all[i].At >= warm {
				counted++
			}
			if i > 0 && all[i].At < all[i-1].At {
				t.Errorf("%s: request %d comes at %v s, before the last one", test.name, i, all[i].At)
			}
		}
		if counted != test.counted {
			t.Errorf("%s: %d of %d requests count, want %d", test.name, counted, len(all), test.counted)
		}
	}
}
