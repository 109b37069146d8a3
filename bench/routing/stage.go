package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/stack"
)

// stage is a rate, in requests a second of the servers' time, and how many requests are sent at it.
type stage struct {
	rate  float64
	count int
}

// ladder makes stages as the published runs have them: 20 s at rates up to 15/s, above that as many requests as there
// are users.
func ladder(rates []float64, users int) []stage {
	stages := make([]stage, len(rates))
	for i, rate := range rates {
		stages[i] = stage{rate, users}
		if rate <= 15 {
			stages[i].count = min(int(math.Ceil(20*rate)), users)
		}
	}
	return stages
}

// outcome is what a side came to in a stage. Times are in the servers' seconds.
type outcome struct {
	rate              float64
	ttftP50, ttftP90  float64
	queued            float64 // mean time that a request waited for a slot
	hitRate           float64 // 0 to 1
	requestsPerSecond float64
	tokensPerSecond   float64
	failed            int
	firstFailure      string
	busy              float64 // of the machine's processors, 0 to 1
}

// drainLimit is how long a stage may go on after its last request, in wall time.
const drainLimit = 2 * time.Minute

// run sends the requests of a stage to a side and waits for all answers.
func (s *side) run(ctx context.Context, g stage, requests []load.Request, servers int, speed float64,
	seed uint64) (outcome, error) {
	before, err := s.counters(servers)
	if err != nil {
		return outcome{}, err
	}
	busy := watchProcessors()
	result, err := load.Run(ctx, load.Config{
		URL: "http://" + stack.Address(s.requestsPort), Requests: requests, Rate: g.rate * speed, Count: g.count,
		Seed:  seed,
		Drain: drainLimit, MaxInFlight: 1 << 20,
	})
	if err != nil {
		return outcome{}, err
	}
	o := summarize(g, result, speed)
	o.busy = busy()
	after, err := s.counters(servers)
	o.add(before, after, speed)
	return o, err
}

// summarize is what the client measured.
func summarize(g stage, r *load.Result, speed float64) outcome {
	o := outcome{rate: g.rate, failed: r.Failed() + r.Dropped}
	ttft := r.Percentiles(load.TTFT, 50, 90)
	o.ttftP50, o.ttftP90 = ttft[0].Seconds()*speed, ttft[1].Seconds()*speed
	_, _, tokens := r.Tokens()
	o.requestsPerSecond = r.RequestsPerSecond() / speed
	o.tokensPerSecond = float64(tokens) / max(r.Elapsed.Seconds(), 1e-9) / speed
	for failure := range r.Errors() {
		o.firstFailure = failure
	}
	return o
}

// counters are sums over the servers of a side, as they report them.
type counters struct{ looked, hits, queuedSeconds, queued float64 }

// add puts in what the servers report of the time between two readings.
func (o *outcome) add(before, after counters, speed float64) {
	o.hitRate = (after.hits - before.hits) / max(after.looked-before.looked, 1)
	o.queued = (after.queuedSeconds - before.queuedSeconds) / max(after.queued-before.queued, 1) * speed
}

var client = &http.Client{Timeout: 5 * time.Second}

func (s *side) counters(servers int) (counters, error) {
	var sum counters
	for i := range servers {
		url := "http://" + stack.Address(s.firstServer+i) + "/metrics"
		response, err := client.Get(url)
		if err != nil {
			return sum, err
		}
		err = sum.read(response.Body)
		_ = response.Body.Close()
		if err != nil {
			return sum, fmt.Errorf("%s: %w", url, err)
		}
	}
	return sum, nil
}

// read adds the counters of a metrics page.
func (c *counters) read(page io.Reader) error {
	wanted := map[string]*float64{
		"vllm:prefix_cache_queries_total": &c.looked, "vllm:prefix_cache_hits_total": &c.hits,
		"vllm:request_queue_time_seconds_sum": &c.queuedSeconds, "vllm:request_queue_time_seconds_count": &c.queued,
	}
	lines := bufio.NewScanner(page)
	for lines.Scan() {
		name, _, _ := strings.Cut(lines.Text(), "{")
		sum := wanted[name]
		if sum == nil {
			continue
		}
		value, err := strconv.ParseFloat(lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:], 64)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*sum += value
		delete(wanted, name)
	}
	for name := range wanted {
		return fmt.Errorf("%s is missing", name)
	}
	return lines.Err()
}
