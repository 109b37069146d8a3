package replay

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// answers are samples of one server's streams: in group n at once, groups one after another, each answer of so many
// tokens at a pace of token x (1 + slowdown x (n - 1)).
func answers(groups []int, output int, token, slowdown float64) (samples []Sample) {
	at := 0.0
	for _, n := range groups {
		pace := token * (1 + slowdown*float64(n-1))
		whole := pace * float64(output-1)
		for range n {
			samples = append(samples, Sample{At: at, Whole: whole, Output: output, TPOT: pace})
		}
		at += whole + 1
	}
	return samples
}

// TestFitDecode: the pace alone and what each other answer adds are told apart.
func TestFitDecode(t *testing.T) {
	hung := slices.Repeat([]Sample{{Whole: 300, Output: 20, TPOT: 15, Cut: true, Server: 1}}, 20)
	for _, test := range []struct {
		name            string
		samples         []Sample
		token, slowdown float64 // 0 for nothing fitted
	}{
		{"alone and beside others", answers([]int{1, 2, 4, 6, 8}, 100, 0.01, 0.05), 0.01, 0.05},
		{"always beside the same number", answers([]int{5, 5, 5, 5}, 100, 0.01, 0.05), 0.012, 0},
		{"faster beside others", answers([]int{1, 2, 4, 6, 8}, 100, 0.01, -0.05), 0.16 / 21, 0},
		{"no time at all alone, by a line", answers([]int{2, 2, 8, 8}, 100, -0.01/6, -7), 0.066, 0},
		{"beside some that hung", slices.Concat(answers([]int{1, 2, 4, 6, 8}, 100, 0.01, 0.05), hung[:3]), 0.01, 0.05},
		{"all hung", hung, 0, 0},
		{"too few", answers([]int{1, 2, 4, 6, 6}, 100, 0.01, 0.05), 0, 0},
		{"too short", answers([]int{1, 2, 4, 6, 8}, 7, 0.01, 0.05), 0, 0},
		{"just long enough", answers([]int{1, 2, 4, 6, 8}, 8, 0.01, 0.05), 0.01, 0.05},
	} {
		t.Run(test.name, func(t *testing.T) {
			token, slowdown, ok := fitDecode(test.samples)
			if ok != (test.token > 0) || !(math.Abs(token.Seconds()-test.token) <= 1e-5) ||
				!(math.Abs(slowdown-test.slowdown) <= 1e-3) {
				t.Errorf("got %v and %v, %v, want %v and %v", token, slowdown, ok,
					time.Duration(test.token*float64(time.Second)), test.slowdown)
			}
		})
	}
}

// TestConcurrency: who is beside an answer counts from its first token on, as long as each is there, at its server.
func TestConcurrency(t *testing.T) {
	samples := []Sample{
		{At: 0, TTFT: 5, Whole: 10}, // alone, as the next one ends when it begins
		{At: 0, TTFT: 1, Whole: 5},  // beside the first, which waits
		{At: 12, Whole: 8},          // half of the time beside the next one
		{At: 16, Whole: 4},
		{At: 0, Whole: 20, Server: 1},
		{At: 30},
	}
	for i, want := range []float64{1, 2, 1.5, 2, 1, 1} {
		if got := concurrency(samples)[i]; !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("sample %d: %v at once, want %v", i, got, want)
		}
	}
}

// TestFitLeavesFlags: what a flag gives stays, and is not said to be fitted.
func TestFitLeavesFlags(t *testing.T) {
	trace := answered(t, always, func(int, *journal.Event) {})
	for _, test := range []struct{ flag, said string }{
		{"prefill-tokens-per-second", "pace, slowdown"}, {"time-per-output-token", "prefill, slowdown"},
		{"batch-slowdown", "prefill, pace"}, {"num-blocks", "prefill, pace, slowdown"},
	} {
		given, fitted := DefaultServers(), DefaultServers()
		said := trace.Fit(&fitted, func(flag string) bool { return flag == test.flag })
		stays := map[string]bool{
			"prefill-tokens-per-second": fitted.PrefillTokensPerSecond == given.PrefillTokensPerSecond,
			"time-per-output-token":     fitted.TimePerOutputToken == given.TimePerOutputToken,
			"batch-slowdown":            fitted.BatchSlowdown == given.BatchSlowdown,
			"num-blocks":                fitted.Blocks == given.Blocks,
		}
		if want := "fitted from the recording: " + test.said; !stays[test.flag] || said != want {
			t.Errorf("-%s stays %v, and it says %q; want it to stay, and %q", test.flag, stays[test.flag], said, want)
		}
	}
}

// TestFitCacheOfSome: prompts of which servers did not tell what they had cached take room, and tell nothing.
func TestFitCacheOfSome(t *testing.T) {
	like := Servers{Count: 1, MaxRunning: 64, BlockTokens: 16, Blocks: 1500, PrefillTokensPerSecond: 4000,
		TimePerOutputToken: 20 * time.Millisecond}
	trace := recorded(t, like, chats(200))
	fitted := func() int {
		blocks, ok := trace.fitCache(&like)
		if !ok {
			t.Fatal("nothing is fitted")
		}
		return blocks
	}
	all := fitted()
	for i := range trace.Requests {
		if r := trace.Requests[i].Recorded; i%2 == 0 {
			r.CachedKnown, r.Cached = false, 0
		}
	}
	if half := fitted(); !(math.Abs(float64(half)/float64(all)-1) <= .25) {
		t.Errorf("where half of the servers' answers tell, %d blocks are fitted, want some %d, as of all", half, all)
	}
}

// TestFitCacheOfAll: where servers forgot nothing their caches are as large as is given, if that has room for it all,
// else as large as it takes.
func TestFitCacheOfAll(t *testing.T) {
	like := Servers{Count: 1, MaxRunning: 64, BlockTokens: 16, Blocks: 1 << 20, PrefillTokensPerSecond: 4000,
		TimePerOutputToken: 20 * time.Millisecond}
	trace := recorded(t, like, chats(200))
	was := Summarise("", trace.Recorded(), 1, Limits{}).Hits
	for _, test := range []struct {
		name  string
		given int // blocks
		stays bool
	}{{"room for it all", 1 << 20, true}, {"too little room", 400, false}} {
		t.Run(test.name, func(t *testing.T) {
			fitted := like
			fitted.Blocks = test.given
			said := trace.Fit(&fitted, func(string) bool { return false })
			if stays := fitted.Blocks == test.given; stays != test.stays || strings.Contains(said, "cache") == stays {
				t.Errorf("%d blocks are fitted, and it says %q; want them to stay %d: %v", fitted.Blocks, said,
					test.given, test.stays)
			}
			now := Summarise("", run(t, `{}`, trace.Requests, Options{Servers: fitted}), 1, Limits{}).Hits
			if !(math.Abs(now-was) <= 0.02) {
				t.Errorf("the part of prompts that is found is %.3f in a replay, want %.3f as recorded", now, was)
			}
		})
	}
}

// TestFitOfNoCache: where servers told that nothing was cached no size is fitted, and it is said that a replay's
// servers do keep prompts, if these come again.
func TestFitOfNoCache(t *testing.T) {
	const says = "; the recorded servers found nothing cached, and those of the replay do"
	for _, test := range []struct {
		name         string
		requests     int
		again, known bool
		cached       int
		says         bool
	}{
		{"prompts that come again", 20, true, true, 0, true},
		{"other prompts", 20, false, true, 0, false},
		{"something was cached", 20, true, true, 16, false},
		{"nobody told", 20, true, false, 0, false},
		{"too few told", 19, true, true, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			trace := &Trace{Endpoints: []string{"a"}}
			for i := range test.requests {
				prompt := uniquePrompt(1, 1024)
				if !test.again {
					prompt = uniquePrompt(uint64(i), 1024)
				}
				trace.Requests = append(trace.Requests, Request{At: float64(i), Input: 1024, Output: 1, Prompt: prompt,
					Recorded: &Recorded{CachedKnown: test.known, Cached: test.cached}})
			}
			servers := DefaultServers()
			said := trace.Fit(&servers, func(string) bool { return false })
			stays := servers.Blocks == DefaultServers().Blocks
			if strings.HasSuffix(said, says) != test.says || !stays && test.cached == 0 {
				t.Errorf("%d blocks are fitted, and it says %q; want it to say %q: %v", servers.Blocks, said, says,
					test.says)
			}
		})
	}
}

// TestFitRoom: what servers have answered they had room for, whatever is known of their caches.
func TestFitRoom(t *testing.T) {
	const input, output = 8000, 16
	for _, test := range []struct {
		name        string
		given, want int // blocks
		said        bool
	}{{"room for it", 501, 501, false}, {"too little room", 500, 501, true}} {
		t.Run(test.name, func(t *testing.T) {
			trace := &Trace{Endpoints: []string{"a"}, Requests: []Request{{Input: input, Output: output,
				Prompt: uniquePrompt(1, input), Recorded: &Recorded{}}}}
			servers := DefaultServers()
			servers.Blocks = test.given
			said := trace.Fit(&servers, func(string) bool { return false })
			if servers.Blocks != test.want || strings.Contains(said, "recording: cache") != test.said {
				t.Errorf("%d blocks are fitted, and it says %q; want %d, and to say so: %v", servers.Blocks, said,
					test.want, test.said)
			}
			for i, s := range run(t, random, trace.Requests, Options{Servers: servers}) {
				if s.Server < 0 {
					t.Errorf("request %d is refused for %s", i, s.Refused)
				}
			}
		})
	}
}

// TestFitPrefill: the quickest tenth tells, of prompts with enough to compute that is known.
func TestFitPrefill(t *testing.T) {
	prompts := func(n, input, cached int, ttft float64, unknown bool) (samples []Sample) {
		for range n {
			samples = append(samples, Sample{Input: input, Cached: cached, TTFT: ttft, CachedUnknown: unknown})
		}
		return samples
	}
	waited := prompts(90, 1000, 0, 10, false)
	for _, test := range []struct {
		name    string
		samples []Sample
		want    float64 // 0 for nothing fitted
	}{
		{"nine of ten waited", slices.Concat(waited, prompts(11, 1000, 0, 0.5, false)), 2000},
		{"cached tokens are not computed", slices.Concat(waited, prompts(11, 2000, 1000, 0.5, false)), 2000},
		{"hardly anything to compute", slices.Concat(waited, prompts(90, 1000, 745, 0.01, false)), 100},
		{"just enough to compute", slices.Concat(waited, prompts(90, 1000, 744, 0.01, false)), 25600},
		{"nobody knows what was cached", slices.Concat(waited, prompts(90, 1000, 0, 0.01, true)), 100},
		{"too few", prompts(19, 1000, 0, 0.5, false), 0},
		{"enough", prompts(20, 1000, 0, 0.5, false), 2000},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, ok := fitPrefill(test.samples); ok != (test.want > 0) || !(math.Abs(got-test.want) <= 1e-6) {
				t.Errorf("got %v, %v, want %v", got, ok, test.want)
			}
		})
	}
}
