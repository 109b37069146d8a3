package load

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Result is the outcome of a run.
type Result struct {
	// Elapsed is the time from the start to the last answer.
	Elapsed time.Duration
	// Dropped counts arrivals that were not sent because MaxInFlight requests were under way.
	Dropped int
	// Samples has one entry for each request that was sent, in the order of their ends.
	Samples []Sample
}

// Measure picks one duration of a sample. A sample without it (0) does not count.
type Measure func(*Sample) time.Duration

// TTFT, TPOT and Latency are the measures of a sample.
func TTFT(s *Sample) time.Duration { return s.TTFT }

// TPOT is the time per output token, see Sample.
func TPOT(s *Sample) time.Duration { return s.TPOT }

// Latency is the whole time, see Sample.
func Latency(s *Sample) time.Duration { return s.Latency }

// Class returns the part of a result that belongs to one class of requests.
func (r *Result) Class(name string) *Result {
	part := &Result{Elapsed: r.Elapsed}
	for _, s := range r.Samples {
		if s.Class == name {
			part.Samples = append(part.Samples, s)
		}
	}
	return part
}

// After returns the samples that were due at or after a time, to leave out a warm-up. Elapsed becomes shorter by it.
func (r *Result) After(start time.Duration) *Result {
	part := &Result{Elapsed: r.Elapsed - start, Dropped: r.Dropped}
	for _, s := range r.Samples {
		if s.Start >= start {
			part.Samples = append(part.Samples, s)
		}
	}
	return part
}

// Succeeded counts the answers that came whole.
func (r *Result) Succeeded() int {
	n := 0
	for i := range r.Samples {
		if r.Samples[i].OK() {
			n++
		}
	}
	return n
}

// Failed counts the others.
func (r *Result) Failed() int { return len(r.Samples) - r.Succeeded() }

// Percentiles returns the percentiles (0 to 100) of a measure over the successful samples, in the order asked for.
// Between two samples it interpolates linearly: percentile p of n sorted values stands at index p/100*(n-1). Without
// samples all are 0.
func (r *Result) Percentiles(m Measure, percentiles ...float64) []time.Duration {
	var values []time.Duration
	for i := range r.Samples {
		if v := m(&r.Samples[i]); r.Samples[i].OK() && v > 0 {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	found := make([]time.Duration, len(percentiles))
	for i, p := range percentiles {
		found[i] = interpolate(values, p)
	}
	return found
}

func interpolate(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	position := min(max(p, 0), 100) / 100 * float64(len(sorted)-1)
	below := int(math.Floor(position))
	if below == len(sorted)-1 {
		return sorted[below]
	}
	part := position - float64(below)
	return sorted[below] + time.Duration(part*float64(sorted[below+1]-sorted[below]))
}

// Servers counts successful answers by server.
func (r *Result) Servers() map[string]int {
	return r.count(func(s *Sample) (string, bool) { return s.Server, s.OK() })
}

// Statuses counts samples by HTTP status, 0 for none.
func (r *Result) Statuses() map[int]int {
	statuses := map[int]int{}
	for i := range r.Samples {
		statuses[r.Samples[i].Status]++
	}
	return statuses
}

// Errors counts failures by their text.
func (r *Result) Errors() map[string]int {
	return r.count(func(s *Sample) (string, bool) { return s.Err, !s.OK() })
}

func (r *Result) count(key func(*Sample) (string, bool)) map[string]int {
	counts := map[string]int{}
	for i := range r.Samples {
		if k, ok := key(&r.Samples[i]); ok {
			counts[k]++
		}
	}
	return counts
}

// Tokens sums the usage of the successful answers.
func (r *Result) Tokens() (prompt, cached, output int) {
	for i := range r.Samples {
		if s := &r.Samples[i]; s.OK() {
			prompt, cached, output = prompt+s.PromptTokens, cached+s.CachedTokens, output+s.OutputTokens
		}
	}
	return prompt, cached, output
}

// RequestsPerSecond is the rate of successful answers over Elapsed.
func (r *Result) RequestsPerSecond() float64 {
	return float64(r.Succeeded()) / max(r.Elapsed.Seconds(), 1e-9)
}

// String is a summary of a few lines for people.
func (r *Result) String() string {
	var b strings.Builder
	prompt, cached, output := r.Tokens()
	fmt.Fprintf(&b, "%d answers, %d failed, %d dropped in %v: %.1f requests/s, %.0f output tokens/s, %.1f%% of "+
		"prompt tokens cached\n",
		r.Succeeded(), r.Failed(), r.Dropped, r.Elapsed.Round(time.Millisecond), r.RequestsPerSecond(),
		float64(output)/max(r.Elapsed.Seconds(), 1e-9), 100*float64(cached)/max(float64(prompt), 1))
	for _, row := range []struct {
		name    string
		measure Measure
	}{{"TTFT", TTFT}, {"TPOT", TPOT}, {"latency", Latency}} {
		p := r.Percentiles(row.measure, 50, 90, 99)
		fmt.Fprintf(&b, "%-8s p50 %-12v p90 %-12v p99 %v\n", row.name, p[0].Round(time.Microsecond),
			p[1].Round(time.Microsecond), p[2].Round(time.Microsecond))
	}
	writeCounts(&b, "servers", r.Servers())
	writeCounts(&b, "errors", r.Errors())
	return b.String()
}

func writeCounts(b *strings.Builder, title string, counts map[string]int) {
	if len(counts) == 0 {
		return
	}
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	b.WriteString(title)
	for _, name := range names {
		fmt.Fprintf(b, "  %s: %d", name, counts[name])
	}
	b.WriteByte('\n')
}
