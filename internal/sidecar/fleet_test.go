package sidecar

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// TestTwoHundredServers scrapes 200 servers (40 with -short: the race detector takes minutes for more) with pages of
// 60 KB: a change at any of them arrives, and each is scraped again and again. For as long as PINTLE_FLEET says,
// such as 1m, it asks for more, which a busy machine cannot promise: all stay fresh, each gets its share of scrapes
// in that time, and none fails.
func TestTwoHundredServers(t *testing.T) {
	const (
		fewest    = 30 // changes
		pageBytes = 60 << 10
		freshFor  = time.Second
	)
	// On a busy machine more scrapes pile up, and those that have less time fail again and again.
	interval, timeout := 200*time.Millisecond, 30*time.Second
	var duration time.Duration
	if text := os.Getenv("PINTLE_FLEET"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil || duration < time.Second {
			t.Fatalf("PINTLE_FLEET=%s: want a duration of 1s or more, such as 1m", text)
		}
		interval, timeout = 50*time.Millisecond, time.Second
	}
	servers := 200
	if testing.Short() {
		servers = 40
	}
	filler := strings.Repeat("vllm:request_latency_seconds_bucket{le=\"0.5\",model_name=\"m\"} 17\n", pageBytes/66)
	var all []*modelServer
	var pairs []string
	load := func(m *modelServer, waiting int) {
		m.set(waiting)
		m.setPage(filler + *m.page.Load())
	}
	for i := range servers {
		m := newModelServer(t, 0)
		load(m, 1)
		all = append(all, m)
		pairs = append(pairs, fmt.Sprintf("server-%03d", i), m.address())
	}
	in, url := newIngest(t)
	r := startWith(t, func(admin string) string {
		config := configYAML(admin, url, "{static: "+staticYAML(pairs...)+"}")
		return strings.Replace(config, "interval: 10ms, timeout: 30s",
			fmt.Sprintf("interval: %v, timeout: %v", interval, timeout), 1)
	})
	in.await("a sample of every server", func(r *received) bool {
		for _, e := range r.load.Endpoints {
			if e.WaitingRequests != 1 {
				return false
			}
		}
		return len(r.load.Endpoints) == servers
	})
	before := make([]int64, servers)
	for i, m := range all {
		before[i] = m.requests.Load()
	}
	random := rand.New(rand.NewPCG(1, 2))
	began, changes := time.Now(), 0
	for ; changes < fewest || time.Since(began) < duration; changes++ {
		i := random.IntN(servers)
		load(all[i], 10+changes)
		in.await("a change at "+pairs[2*i], func(r *received) bool { return r.waiting(pairs[2*i]) == 10+changes })
	}
	took := time.Since(began)
	t.Logf("%d changes at random servers arrived in %v", changes, took.Round(time.Millisecond))
	for i, m := range all {
		eventually(t, "another scrape of "+pairs[2*i], func() bool { return m.requests.Load() > before[i] })
	}
	if duration == 0 {
		return
	}
	in.await("all samples to be fresh", func(r *received) bool {
		for _, e := range r.load.Endpoints {
			if time.Duration(e.AgeMillis)*time.Millisecond > freshFor {
				return false
			}
		}
		return true
	})
	least := int64(took/interval) / 5
	for i, m := range all {
		if n := m.requests.Load() - before[i]; n < least {
			t.Errorf("%s was scraped %d times in %v, want at least %d", pairs[2*i], n, took, least)
		}
	}
	if _, metrics := r.get("/metrics"); strings.Contains(metrics, `result="timeout"`) ||
		strings.Contains(metrics, `result="error"`) {
		t.Errorf("scrapes failed:\n%s", metrics)
	}
}
