package load

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestOpenLoop: requests that come by themselves are measured from when they were due, and those that nobody waits for
// any more leave room for others.
func TestOpenLoop(t *testing.T) {
	const second = time.Second
	for _, test := range []struct {
		name          string
		config        Config
		answers       time.Duration // how long each takes
		sent, dropped int
		// starts are the samples' own; waited is how long the last one took, elapsed how long all.
		starts          []time.Duration
		waited, elapsed time.Duration
	}{
		{"in time", Config{Due: []time.Duration{0, 2 * second}}, second, 2, 0, []time.Duration{0, 2 * second}, second,
			3 * second},
		{"sent late", Config{Due: []time.Duration{-5 * second}}, second, 1, 0, []time.Duration{-5 * second}, 6 * second,
			second},
		{"room after others were dropped", Config{MaxInFlight: 1, Due: []time.Duration{0, 0, 0, 2 * second}}, second, 2,
			2, []time.Duration{0, 2 * second}, second, 3 * second},
		{"no more than so many", Config{Count: 1, Due: []time.Duration{0, 2 * second}}, second, 1, 0,
			[]time.Duration{0}, second, second},
		{"due after the end", Config{Duration: 5 * second, Due: []time.Duration{0, second, 60 * second}}, 0, 2, 0,
			[]time.Duration{0, second}, 0, second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := test.config
				c.URL, c.Client = "http://memory", inMemory(t, func(http.ResponseWriter, *http.Request) {
					time.Sleep(test.answers)
				})
				for range c.Due {
					c.Requests = append(c.Requests, Uniform{Model: "m"}.Requests()...)
				}
				r, err := Run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Samples) != test.sent || r.Failed() != 0 || r.Dropped != test.dropped {
					t.Fatalf("got %d sent, %v failed, %d dropped, want %d, none and %d", len(r.Samples), r.Errors(),
						r.Dropped, test.sent, test.dropped)
				}
				for i, s := range r.Samples {
					if s.Start != test.starts[i] {
						t.Errorf("request %d: due at %v, want %v", i, s.Start, test.starts[i])
					}
				}
				last := &r.Samples[test.sent-1]
				if last.Latency != test.waited || last.TTFT != test.waited || r.Elapsed != test.elapsed {
					t.Errorf("the last one took %v, its first token %v, all %v; want %v, the same and %v", last.Latency,
						last.TTFT, r.Elapsed, test.waited, test.elapsed)
				}
			})
		})
	}
}
