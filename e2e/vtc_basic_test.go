package e2e

import (
	"fmt"
	"io"
	"maps"
	"net/http"
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
			t.Parallel()
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

// TestVTCBasicProtectsLightUser: with vtc-basic, a user who floods the servers is kept off the one that another user's
// requests go to; with random choice the flood is everywhere. What that does to waiting times, bench/strategies shows.
func TestVTCBasicProtectsLightUser(t *testing.T) {
	const (
		workers = 12
		light   = 15 // requests of the light user, one after another
	)
	slow := sim.Config{MaxRunning: 2, PrefillTokensPerSecond: 20_000, TimePerOutputToken: time.Millisecond}
	s := startStrategies(t, harness.Cells()[0], slow, slow)
	for _, test := range []struct {
		strategy    string
		least, most float64
	}{{"vtc-basic", 0, 0.2}, {"random", 0.3, 0.7}} {
		flood := s.flood(t, test.strategy, "heavy", workers)
		flood.wait(t, 2*workers) // what the heavy user has had is known
		besides, all := 0, 0
		for i := range light {
			before := flood.answers()
			server := s.send(t, test.strategy, "light", freshPrompt("light", i)).Server()
			flood.wait(t, workers)
			for name, n := range flood.answers() {
				all += n - before[name]
				if name == server {
					besides += n - before[name]
				}
			}
		}
		flood.end()
		if share := float64(besides) / float64(all); share < test.least || share > test.most {
			t.Errorf("%s: the light user's server gave %d of %d answers of the flood, want a share of %g to %g",
				test.strategy, besides, all, test.least, test.most)
		} else {
			t.Logf("%s: the light user's server gave %d of %d answers of the flood", test.strategy, besides, all)
		}
	}
}

// freshPrompt is a body with a prompt of some 200 tokens that no server has.
func freshPrompt(user string, number int) string {
	prompt := fmt.Sprintf("%s %d %d ", user, number, time.Now().UnixNano())
	return fmt.Sprintf(`{"model":"sim-model","max_tokens":4,"messages":[{"role":"user","content":"%s%s"}]}`, prompt,
		strings.Repeat("x", 800-len(prompt)))
}

// userFlood keeps requests of one user under way until its end.
type userFlood struct {
	mu     sync.Mutex
	counts map[string]int
	end    func()
}

func (s *strategies) flood(t *testing.T, strategy, user string, workers int) *userFlood {
	t.Helper()
	f := &userFlood{counts: map[string]int{}}
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
				server, err := answerer(s.request(t, strategy, user, freshPrompt(user, worker*1_000_000+i)))
				if err != nil {
					t.Errorf("the flood of %s: %v", user, err)
					return
				}
				f.mu.Lock()
				f.counts[server]++
				f.mu.Unlock()
			}
		})
	}
	f.end = sync.OnceFunc(func() {
		close(done)
		senders.Wait()
	})
	t.Cleanup(f.end)
	return f
}

// answerer sends a request on a connection of its own, in any goroutine, and returns who answered.
func answerer(request *http.Request) (server string, err error) {
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return response.Header.Get("x-sim-server"), err
}

// answers are those that the flood has got, by server.
func (f *userFlood) answers() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// wait waits until the flood has got so many more answers.
func (f *userFlood) wait(t *testing.T, answers int) {
	t.Helper()
	total := func() (n int) {
		for _, count := range f.answers() {
			n += count
		}
		return n
	}
	before := total()
	harness.WaitFor(t, time.Minute, "the flood", func() (bool, string) {
		n := total() - before
		return n >= answers, fmt.Sprintf("%d of %d answers", n, answers)
	})
}
