package picker

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// load is what a server reports.
type load struct {
	waiting, running int
	usage            float64
	// heat is a gauge that no engine has of itself.
	heat float64
	// active and queued are LoRA adapters, of which adapters many can run at once; 0 is a server that knows of none.
	active, queued []string
	adapters       int
}

// server is a model server of which there is little but its metrics.
type server struct {
	*httptest.Server
	name, host, address string
	port                int
	labels              map[string]string
	reported            atomic.Pointer[load]
	scrapes             atomic.Int64
}

// blockTokens and blocks are the size of each server's cache.
const (
	blockTokens = 64
	blocks      = 4096
)

// startServers starts n servers, so many of them at one address each, on ports of their own.
func startServers(t testing.TB, n, atOneAddress int) []*server {
	t.Helper()
	all := make([]*server, n)
	for i := range all {
		s := &server{name: fmt.Sprintf("server-%d", i), labels: map[string]string{}}
		s.host = fmt.Sprintf("127.0.0.%d", 1+i/max(atOneAddress, 1))
		s.reported.Store(&load{})
		listener, err := net.Listen("tcp", s.host+":0")
		if err != nil {
			t.Fatal(err)
		}
		s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.metrics))
		_ = s.Listener.Close()
		s.Listener = listener
		s.Start()
		t.Cleanup(s.Close)
		s.address = listener.Addr().String()
		s.port = listener.Addr().(*net.TCPAddr).Port
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
# TYPE heat gauge
heat %v
`, l.waiting, l.running, l.usage, blockTokens, blocks, l.heat)
	if l.adapters > 0 {
		fmt.Fprintf(w, "# TYPE vllm:lora_requests_info gauge\n"+
			"vllm:lora_requests_info{running_lora_adapters=%q,waiting_lora_adapters=%q,max_lora=\"%d\"} %d\n",
			strings.Join(l.active, ","), strings.Join(l.queued, ","), l.adapters, time.Now().Unix())
	}
	s.scrapes.Add(1)
}

// shuffle gives every server another load, and waits until each has been read with it. Some loads are equal, some are
// nothing.
func shuffle(t testing.TB, random *rand.Rand, servers []*server) {
	t.Helper()
	most := 1 + random.IntN(40)
	seen := make([]int64, len(servers))
	for i, s := range servers {
		l := load{waiting: random.IntN(most), running: random.IntN(3 * most), usage: float64(random.IntN(101)) / 100,
			heat: float64(random.IntN(100)), adapters: 2 + random.IntN(2)}
		for _, adapter := range models {
			switch random.IntN(4) {
			case 0:
				l.active = append(l.active, adapter)
			case 1:
				l.queued = append(l.queued, adapter)
			}
		}
		if random.IntN(6) == 0 {
			l = load{adapters: 2}
		}
		s.reported.Store(&l)
		seen[i] = s.scrapes.Load()
	}
	for i, s := range servers {
		// The scrape that is under way may have begun before.
		waitFor(t, "a server to be scraped", func() bool { return s.scrapes.Load() >= seen[i]+2 })
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
