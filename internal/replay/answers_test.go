package replay

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/recording"
	"github.com/pintle-dev/pintle/journal"
)

// answered is a recording of a hundred requests, one after another, to a server of 10,000 prompt tokens a second and
// 20 ms a token. change may have their completions come otherwise.
func answered(t *testing.T, streamed func(i int) bool, change func(i int, e *journal.Event)) *Trace {
	t.Helper()
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, 5)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		const first, whole = 100_000, 100_000 + 99*20_000
		e := journal.Event{Kind: journal.Decision, Instance: 1, Lease: uint32(i + 1),
			Time: epoch + int64(i)*int64(10*time.Second), Model: 1, Primary: 2, Streamed: streamed(i),
			PromptBytes: 4000}
		for range 2 {
			if err := w.Event(&e); err != nil {
				t.Fatal(err)
			}
			e.Kind, e.Time, e.Status, e.Code = journal.Completion, e.Time+whole*1000, 200, 200
			e.Ended, e.UsageReported, e.InputTokens, e.OutputTokens = journal.EndedWhole, true, 1000, 100
			e.CachedReported = true
			e.TTFTMicros, e.DurationMicros = first, whole
			if !e.Streamed { // its first byte comes with its last
				e.TTFTMicros = whole - 300
			}
			change(i, &e)
		}
	}
	return readBack(t, w, &file)
}

func always(int) bool { return true }

// TestAnswersThatWereCut: answers that nobody saw begin have no TTFT, and those that did not end are not good.
func TestAnswersThatWereCut(t *testing.T) {
	for _, test := range []struct {
		name        string
		ended       journal.Ending
		ttft        uint32
		good, whole float64
	}{
		{"before their first byte", journal.EndedClient, 0, .4, 2.08},
		{"after their first byte", journal.EndedClient, 100_000, .4, 2.08},
		{"nobody looked, and no byte came", journal.EndedUnknown, 0, .4, 2.08},
		{"nobody looked", journal.EndedUnknown, 100_000, 1, 30},
	} {
		t.Run(test.name, func(t *testing.T) {
			trace := answered(t, always, func(i int, e *journal.Event) {
				if i < 60 {
					e.Ended, e.UsageReported, e.OutputTokens = test.ended, false, 0
					e.TTFTMicros, e.DurationMicros = test.ttft, 30_000_000
				}
			})
			r := Summarise("", trace.Recorded(), 1, Limits{TTFT: 1})
			if r.TTFT.P50 != .1 || !(math.Abs(r.Good-test.good) <= 1e-9) ||
				!(math.Abs(r.Whole.P50-test.whole) <= 1e-9) ||
				r.Imbalance != 1 {
				t.Errorf("got a TTFT of %v s, %v good, %v s whole and %v of an equal share, want 0.1, %v, %v and 1",
					r.TTFT.P50, r.Good, r.Whole.P50, r.Imbalance, test.good, test.whole)
			}
			p90, _ := overTime(trace.Recorded(), 1000)
			for _, p := range p90 {
				if seen := p[0] > 600 || test.ttft > 0; seen != (p[1] == .1) || seen == math.IsNaN(p[1]) {
					t.Errorf("at %v s a TTFT of %v s is plotted, want 0.1 s where any was seen: %v", p[0], p[1], seen)
				}
			}
		})
	}
}

// TestFitOfStreams: how fast servers are is told by streams alone, and nothing is made of the others.
func TestFitOfStreams(t *testing.T) {
	defaults := DefaultServers()
	for _, test := range []struct {
		name    string
		streams int
		prefill float64
		token   time.Duration
		said    string
	}{
		{"all", 100, 10_000, 20 * time.Millisecond, "fitted from the recording: prefill, pace, slowdown"},
		{"some", 40, 10_000, 20 * time.Millisecond, "fitted from the recording: prefill, pace, slowdown"},
		{"just enough", enoughSamples, 10_000, 20 * time.Millisecond,
			"fitted from the recording: prefill, pace, slowdown"},
		{"few", 5, defaults.PrefillTokensPerSecond, defaults.TimePerOutputToken,
			"the recording does not tell what its servers are like: their figures are given or defaults; " +
				"5 of 100 answers are streams, too few to fit prefill, pace and slowdown"},
		{"none", 0, defaults.PrefillTokensPerSecond, defaults.TimePerOutputToken,
			"the recording does not tell what its servers are like: their figures are given or defaults; " +
				"0 of 100 answers are streams, too few to fit prefill, pace and slowdown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trace := answered(t, func(i int) bool { return i < test.streams }, func(int, *journal.Event) {})
			fitted := DefaultServers()
			said := trace.Fit(&fitted, func(string) bool { return false })
			if !(math.Abs(fitted.PrefillTokensPerSecond-test.prefill) <= 1) ||
				(fitted.TimePerOutputToken-test.token).Abs() > time.Microsecond || said != test.said {
				t.Errorf("fitted %.0f prompt tokens/s and %v a token: %q; want %.0f, %v and %q",
					fitted.PrefillTokensPerSecond, fitted.TimePerOutputToken, said, test.prefill, test.token, test.said)
			}
		})
	}
}

// TestUntoldCaches: where servers do not tell what they had cached, no speed is taken from how soon an answer began,
// and the hits are those of the prompts of which they told.
func TestUntoldCaches(t *testing.T) {
	defaults := DefaultServers()
	for _, test := range []struct {
		name          string
		told          int
		prefill, hits float64
		said          string
	}{
		{"all", 100, 10_000, .5, "fitted from the recording: prefill, pace, slowdown"},
		{"some", 30, 10_000, .5, "fitted from the recording: prefill, pace, slowdown"},
		{"few", 10, defaults.PrefillTokensPerSecond, .5, "fitted from the recording: pace, slowdown; " +
			"10 of 100 streams tell what was cached of their prompts, too few to fit prefill"},
		{"none", 0, defaults.PrefillTokensPerSecond, math.NaN(),
			"; 0 of 100 streams tell what was cached of their prompts, too few to fit prefill"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trace := answered(t, always, func(i int, e *journal.Event) {
				if e.InputTokens, e.CachedTokens = 2000, 1000; i >= test.told {
					e.CachedReported, e.CachedTokens = false, 0
				}
			})
			fitted := DefaultServers()
			said := trace.Fit(&fitted, func(string) bool { return false })
			hits := Summarise("", trace.Recorded(), 1, Limits{}).Hits
			if !(math.Abs(fitted.PrefillTokensPerSecond-test.prefill) <= 1) || !strings.HasSuffix(said, test.said) ||
				hits != test.hits && !(math.IsNaN(hits) && math.IsNaN(test.hits)) {
				t.Errorf("fitted %.0f prompt tokens/s: %q, hits %v; want %.0f, %q, %v", fitted.PrefillTokensPerSecond,
					said, hits, test.prefill, test.said, test.hits)
			}
		})
	}
}

// TestTimesOfWholeAnswers: what is no stream has neither TTFT nor TPOT, as it was recorded and in a replay, and counts
// where it ends.
func TestTimesOfWholeAnswers(t *testing.T) {
	trace := answered(t, func(i int) bool { return i%2 == 0 }, func(int, *journal.Event) {})
	servers := DefaultServers()
	servers.Count = 1
	for name, samples := range map[string][]Sample{
		"recorded": trace.Recorded(),
		"replayed": run(t, `{}`, trace.Requests, Options{Servers: servers, Events: func(e *journal.Event) {
			switch stream := e.Lease%2 == 1; {
			case stream:
			case e.Kind == journal.Began:
				t.Errorf("request %d is told to have begun, and is no stream", e.Lease)
			case e.Kind == journal.Completion && e.TTFTMicros != e.DurationMicros:
				t.Errorf("request %d began after %d us, want %d, when it ended", e.Lease, e.TTFTMicros,
					e.DurationMicros)
			}
		}}),
	} {
		for i, s := range samples {
			if stream := i%2 == 0; (s.TTFT > 0) != stream || (s.TPOT > 0) != stream || s.Whole <= 0 {
				t.Errorf("%s: request %d, a stream %v: got %+v", name, i, stream, s)
			}
		}
		if r := Summarise("", samples, 1, Limits{TTFT: 1}); r.Good != 1 {
			t.Errorf("%s: got %v good, want all", name, r.Good)
		}
	}
}

// TestPaceOfOneToken: an answer of one token has no pace, as it was recorded and in a replay.
func TestPaceOfOneToken(t *testing.T) {
	trace := answered(t, always, func(_ int, e *journal.Event) { e.OutputTokens = 1 })
	servers := DefaultServers()
	servers.Count = 1
	for name, samples := range map[string][]Sample{
		"recorded": trace.Recorded(), "replayed": run(t, `{}`, trace.Requests, Options{Servers: servers}),
	} {
		for i, s := range samples {
			if s.TPOT != 0 || s.TTFT <= 0 {
				t.Fatalf("%s: request %d: got %v s a token, TTFT %v s; want none and some", name, i, s.TPOT, s.TTFT)
			}
		}
	}
}

// TestDistribution: each hundredth of the times that were seen, by the nearest rank.
func TestDistribution(t *testing.T) {
	samples := []Sample{{TTFT: 3}, {TTFT: 9, Server: -1}, {TTFT: 1}, {}, {TTFT: 4}, {TTFT: 2}}
	points := distribution(samples, func(s *Sample) float64 { return s.TTFT })
	if len(points) != 100 {
		t.Fatalf("got %d points, want 100", len(points))
	}
	for _, want := range [][2]float64{{1, 1}, {1, 25}, {2, 26}, {2, 50}, {3, 51}, {3, 75}, {4, 76}, {4, 100}} {
		if got := points[int(want[1])-1]; got != want {
			t.Errorf("got the point %v, want %v", got, want)
		}
	}
	if got := distribution(samples[3:4], func(s *Sample) float64 { return s.TTFT }); len(got) != 0 {
		t.Errorf("of no times: got %v, want nothing", got)
	}
}

// TestAnswersThatNeverEnd: an answer that servers are too slow to end is not good, and has no time.
func TestAnswersThatNeverEnd(t *testing.T) {
	requests := []Request{{Input: 100, Output: 1, Stream: true}, {At: 1, Input: 100, Output: 100, Stream: true}}
	for _, test := range []struct {
		name    string
		servers func(s *Servers)
		good    float64
	}{
		{"all end", func(*Servers) {}, 1},
		{"one does not", func(s *Servers) { s.TimePerOutputToken = 1000 * time.Hour }, .5},
		{"none begins", func(s *Servers) { s.PrefillTokensPerSecond = 1e-6 }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := Options{Servers: DefaultServers()}
			test.servers(&o.Servers)
			r := Summarise("", run(t, random, requests, o), o.Servers.Count, Limits{})
			if r.Good != test.good || r.Whole.P50 == 0 {
				t.Errorf("good are %v, and half of the answers take %v s; want %v, and more than 0 s", r.Good,
					r.Whole.P50, test.good)
			}
		})
	}
}
