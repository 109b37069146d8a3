package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestOneAndFourWorkers: the same traffic finds as many cached prefixes through four workers as through one, as they
// decide on one state. Workers that each knew only their own requests would send each prefix to up to four servers.
func TestOneAndFourWorkers(t *testing.T) {
	const (
		groups, turns = 60, 12
		clients       = 8
		mostApart     = 0.02
		least         = 0.8 // by chance it would be two thirds
	)
	var prompts []string
	for range turns {
		for group := range groups {
			beginning := strings.Repeat(fmt.Sprintf("group %d begins so. ", group), 60)
			prompts = append(prompts,
				fmt.Sprintf(`{"model":"sim-model","max_tokens":1,"messages":[{"role":"user","content":%q}]}`,
					beginning+fmt.Sprint("turn ", len(prompts))))
		}
	}
	// Turns of a group keep their order of magnitude; which comes next is chance, the same for both.
	random := rand.New(rand.NewPCG(3, 4))
	for start := 0; start < len(prompts); start += groups {
		turn := prompts[start : start+groups]
		random.Shuffle(groups, func(i, j int) { turn[i], turn[j] = turn[j], turn[i] })
	}
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			rates := map[int]float64{}
			for _, workers := range []int{1, 4} {
				rates[workers] = hitRate(t, cell, workers, clients, prompts)
			}
			t.Logf("prompt tokens found in a cache: %.1f %% with one worker, %.1f %% with four", 100*rates[1],
				100*rates[4])
			if apart := rates[1] - rates[4]; apart > mostApart || apart < -mostApart {
				t.Errorf("hit rates are %.1f points apart, want at most %.0f", 100*apart, 100*mostApart)
			}
			if !(rates[1] >= least) { // also where it is no number
				t.Errorf("with one worker %.1f %% were found in a cache, want at least %.0f", 100*rates[1], 100*least)
			}
		})
	}
}

// hitRate sends the prompts through an Envoy with so many workers and returns the part of their tokens that the servers
// had cached. Each request comes on a connection of its own, so that all workers get their share.
func hitRate(t *testing.T, cell harness.Cell, workers, clients int, prompts []string) float64 {
	t.Helper()
	l := newQuickLab(t, cell, workers)
	work := make(chan string)
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for prompt := range work {
				if x := l.exchange(t, "requests", prompt); x.status != http.StatusOK {
					t.Errorf("%d workers: got %v, want 200", workers, x)
				}
			}
		})
	}
	for _, prompt := range prompts {
		work <- prompt
	}
	close(work)
	running.Wait()
	l.wantRest(t, 20*time.Second)
	stats := l.Stats(t, "wasmcustom.pintle")
	for _, lost := range []string{"missed", "failed"} {
		if n := stats["wasmcustom.pintle.journal."+lost]; n != 0 {
			t.Errorf("%d workers: %d events %s, want none", workers, n, lost)
		}
	}
	t.Logf("%d workers: %d events written again", workers, stats["wasmcustom.pintle.journal.conflicts"])
	queries, hits := 0.0, 0.0
	for _, s := range l.servers {
		queries += metric(t, s, "vllm:prefix_cache_queries_total")
		hits += metric(t, s, "vllm:prefix_cache_hits_total")
	}
	return hits / queries
}

// metric reads a counter of a server.
func metric(t testing.TB, s *harness.Server, name string) float64 {
	t.Helper()
	response, err := http.Get("http://" + s.Address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		value := 0.0
		if _, after, ok := strings.Cut(line, "} "); ok && strings.HasPrefix(line, name+"{") {
			if _, err := fmt.Sscan(after, &value); err == nil {
				return value
			}
		}
	}
	t.Fatalf("%s shows no %s", s.Name, name)
	return 0
}
