package picker

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// load is what a server reports.
type load struct {
	waiting, running int
	usage            float64
}

// server is a model server of which there is little but its metrics.
type server struct {
	*httptest.Server
	name, address string
	port          int
	labels        map[string]string
	reported      atomic.Pointer[load]
	scrapes       atomic.Int64
}

// blockTokens and blocks are the size of each server's cache.
const (
	blockTokens = 64
	blocks      = 4096
)

func startServers(t testing.TB, n int) []*server {
	t.Helper()
	all := make([]*server, n)
	for i := range all {
		s := &server{name: fmt.Sprintf("server-%d", i), labels: map[string]string{}}
		s.reported.Store(&load{})
		s.Server = httptest.NewServer(http.HandlerFunc(s.metrics))
		t.Cleanup(s.Close)
		s.address = s.Listener.Addr().String()
		s.port = s.Listener.Addr().(*net.TCPAddr).Port
		all[i] = s
	}
	return all
}

func (s *server) metrics(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		w.Header().Set("x-server", s.address)
		_, _ = w.Write([]byte("{}"))
		return
	}
	l := s.reported.Load()
	w.Header().Set("content-type", "text/plain; version=0.0.4")
	fmt.Fprintf(w, `# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="m"} %d
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m"} %d
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{model_name="m"} %v
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="%d",num_gpu_blocks="%d"} 1
`, l.waiting, l.running, l.usage, blockTokens, blocks)
	s.scrapes.Add(1)
}

// shuffle gives every server another load, and waits until each has been read with it. Some loads are equal, some are
// nothing.
func shuffle(t testing.TB, random *rand.Rand, servers []*server) {
	t.Helper()
	most := 1 + random.IntN(40)
	for _, s := range servers {
		l := load{waiting: random.IntN(most), running: random.IntN(3 * most), usage: float64(random.IntN(101)) / 100}
		if random.IntN(6) == 0 {
			l = load{}
		}
		s.reported.Store(&l)
	}
	for _, s := range servers {
		// The scrape that is under way may have begun before.
		waitFor(t, "a server to be scraped", func(seen int64) func() bool {
			return func() bool { return s.scrapes.Load() >= seen+2 }
		}(s.scrapes.Load()))
	}
	time.Sleep(20 * time.Millisecond)
}

func waitFor(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s", what)
		}
	}
}
