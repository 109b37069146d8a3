package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// TestVTCBasicCountsWhatServersReport: by the estimates the user with the long prompt is the heavy one, by what the
// servers report it is the one with the long answer, whose requests then go to the last server.
func TestVTCBasicCountsWhatServersReport(t *testing.T) {
	fast := sim.Config{PrefillTokensPerSecond: 1e6, TimePerOutputToken: -1}
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			s := startStrategies(t, cell, fast, fast, fast)
			body := func(words, answer int) string {
				return fmt.Sprintf(`{"model":"sim-model","max_tokens":%d,"messages":[{"role":"user","content":"%s"}]}`,
					answer, strings.Repeat("word ", words))
			}
			s.send(t, "vtc-basic", "prompts", body(800, 1))
			s.send(t, "vtc-basic", "answers", body(1, 4000))
			for user, want := range map[string]string{"answers": "sim-2", "prompts": "sim-0"} {
				harness.WaitFor(t, 10*time.Second, "the answers to be journaled", func() (bool, string) {
					got := s.send(t, "vtc-basic", user, body(1, 1))
					return got.Server() == want, fmt.Sprintf("%s is sent to %s", user, got.Server())
				})
			}
		})
	}
}

// light is how many requests of the light user are measured.
const light = 15

// p90 sends a light user's requests, one after another, and returns the time in which nine of ten had begun to be
// answered.
func (s *strategies) p90(t *testing.T, strategy, user string) time.Duration {
	t.Helper()
	var times []time.Duration
	for i := range light {
		elapsed, err := s.firstByte(strategy, user, i)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, elapsed)
	}
	slices.Sort(times)
	return times[len(times)*9/10]
}

// firstByte sends a prompt of 200 tokens that no server has, and returns the time to the first byte of the answer.
func (s *strategies) firstByte(strategy, user string, number int) (time.Duration, error) {
	prompt := fmt.Sprintf("%s %s %d %d ", strategy, user, number, time.Now().UnixNano())
	prompt += strings.Repeat("x", 800-len(prompt))
	body := fmt.Sprintf(`{"model":"sim-model","stream":true,"max_tokens":4,"messages":[{"role":"user","content":%q}]}`,
		prompt)
	request, err := http.NewRequest(http.MethodPost, s.URL("requests", chatPath), strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("routing-strategy", strategy)
	request.Header.Set("user", user)
	transport := &http.Transport{DisableKeepAlives: true}
	began := time.Now()
	response, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.ReadFull(response.Body, make([]byte, 1))
	elapsed := time.Since(began)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d", strategy, response.StatusCode)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return elapsed, err
}

// flood keeps requests of one user under way until the function it returns is called.
func (s *strategies) flood(strategy, user string, workers int) (end func()) {
	done := make(chan struct{})
	var senders sync.WaitGroup
	for worker := range workers {
		senders.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				if _, err := s.firstByte(strategy, user, worker*1_000_000+i); err != nil {
					return
				}
				s.flooded.Add(1)
			}
		})
	}
	return func() {
		close(done)
		senders.Wait()
	}
}

// TestVTCBasicProtectsLightUser: with vtc-basic, a user who floods the servers does not keep another one waiting; with
// random choice that one waits several times as long.
func TestVTCBasicProtectsLightUser(t *testing.T) {
	// A prompt takes 80 ms, one after another, so that a server's queue is what a request waits for.
	slow := sim.Config{MaxRunning: 2, PrefillTokensPerSecond: 2500, TimePerOutputToken: time.Millisecond}
	s := startStrategies(t, harness.Cells()[0], slow, slow)
	const rounds = 3
	for round := 1; ; round++ {
		slowdown := s.lightUnderFlood(t)
		if slowdown["vtc-basic"] <= 1.5 && slowdown["random"] >= 3 {
			return
		}
		if round == rounds {
			t.Fatalf("under the flood the light user's p90 grows %.2f times with vtc-basic and %.2f times with "+
				"random choice, %d rounds long; "+
				"want at most 1.5, and at least 3", slowdown["vtc-basic"], slowdown["random"], rounds)
		}
	}
}

// lightUnderFlood returns how many times as long a light user waits beside a flood as alone, for each strategy.
func (s *strategies) lightUnderFlood(t *testing.T) map[string]float64 {
	t.Helper()
	const workers = 12
	alone := s.p90(t, "least-request", "measure")
	slowdown := map[string]float64{}
	for _, strategy := range []string{"random", "vtc-basic"} {
		end := s.flood(strategy, "heavy", workers)
		s.waitForFlood(t, 2*workers)
		beside := s.p90(t, strategy, "light")
		end()
		slowdown[strategy] = float64(beside) / float64(alone)
		t.Logf("p90 of the light user's TTFT: alone %v, beside a flood with %s %v", alone, strategy, beside)
	}
	return slowdown
}

// waitForFlood waits until floods have got so many more answers.
func (s *strategies) waitForFlood(t *testing.T, answers int64) {
	t.Helper()
	before := s.flooded.Load()
	harness.WaitFor(t, time.Minute, "the flood", func() (bool, string) {
		n := s.flooded.Load() - before
		return n >= answers, fmt.Sprintf("%d of %d answers", n, answers)
	})
}
