package sidecar

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// worldServer is a model server of any engine.
type worldServer struct {
	listening

	mu   sync.Mutex
	mode string
	kind string
	// waiting, running, the used hundredths of the cache and its blocks are never twice the same together.
	waiting, running, usage, blocks int
	// done counts within a process, of which each begins below where the one before it did.
	done, process int
	// started is when the process was by its own clock, seconds since 1970; 0 is not told.
	started int64
	whole   bool // it cannot be asked for the needed metrics alone
	models  []string
	lora    []string
}

func newWorldServer(t testing.TB, address string) *worldServer {
	s := &worldServer{listening: listening{t: t, address: address}}
	s.handler = s
	s.models = []string{"base"}
	s.restart("vllm", 0)
	t.Cleanup(s.stop)
	return s
}

// restart has another process take the place of the one that there is.
func (s *worldServer) restart(kind string, started int64) {
	s.stop()
	s.change(func() {
		s.mode, s.kind, s.started, s.lora = well, kind, started, nil
		s.process++
		s.done = 1_000_000 - 1000*s.process
	})
	s.start()
}

// work gives the server other numbers.
func (s *worldServer) work() {
	s.change(func() {
		s.waiting++
		s.running, s.usage, s.blocks = s.waiting%7, s.waiting%101, 1000+s.waiting
		s.done++
	})
}

// is is a copy of what the server is now, and whether it can be asked.
func (s *worldServer) is() (now serverState, answers bool) {
	there := s.listens()
	s.mu.Lock()
	defer s.mu.Unlock()
	return serverState{s.kind, s.waiting, s.running, s.usage, s.blocks, s.process, s.started,
		slices.Compact(slices.Sorted(slices.Values(s.models))), s.lora}, there && (s.mode == well || s.mode == late)
}

type serverState struct {
	kind                                     string
	waiting, running, usage, blocks, process int
	started                                  int64
	models, lora                             []string
}

func (s *worldServer) change(by func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by()
}

func (s *worldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	mode, page, path, whole, kind, models := s.mode, s.page(), "/metrics", s.whole, s.kind, s.list()
	s.mu.Unlock()
	switch mode {
	case hangs:
		<-r.Context().Done()
		return
	case late:
		time.Sleep(40 * time.Millisecond)
	case garbage:
		_, _ = io.WriteString(w, "\x00\xff{{{{vllm:num_requests_waiting{\n\n<html>")
		return
	case fails:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case breaks:
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, page)
		return
	}
	if kind == "trtllm" {
		path = "/prometheus/metrics"
	}
	switch {
	case r.URL.Path == "/v1/models":
		_, _ = io.WriteString(w, models)
	case r.URL.Path == path || r.URL.Path == "/metrics/" && kind == "vllm" && !whole:
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, page)
	case r.URL.Path == "/metrics":
		_, _ = io.WriteString(w, `[{"iter":1}]`)
	default:
		http.NotFound(w, r)
	}
}

func (s *worldServer) list() string {
	type model struct {
		ID     string `json:"id"`
		Parent string `json:"parent,omitempty"`
		Owner  string `json:"owned_by"`
	}
	all := struct {
		Data []model `json:"data"`
	}{Data: []model{}}
	for _, name := range s.models {
		all.Data = append(all.Data, model{ID: name, Owner: s.kind})
	}
	text, _ := json.Marshal(all)
	return string(text)
}

// page is the metrics page of the server's engine.
func (s *worldServer) page() string {
	f := float64(s.usage) / 100
	switch s.kind {
	case "sglang":
		page := fmt.Sprintf("sglang:num_queue_reqs %d\nsglang:num_running_reqs %d\nsglang:token_usage %v\n"+
			"sglang:page_size 16\nsglang:num_pages %d\n", s.waiting, s.running, f, s.blocks)
		if s.done > 0 {
			page += fmt.Sprintf("sglang:prompt_tokens_total %d\n", s.done)
		}
		return page
	case "trtllm":
		return fmt.Sprintf("trtllm_num_requests_waiting %d\ntrtllm_num_requests_running %d\n"+
			"trtllm_kv_cache_utilization %v\ntrtllm_kv_cache_tokens_per_block 16\ntrtllm_kv_cache_max_blocks %d\n"+
			"trtllm_request_success_total %d\n", s.waiting, s.running, f, s.blocks, s.done)
	case "triton":
		return fmt.Sprintf("nv_trt_llm_request_metrics{request_type=\"waiting\"} %d\n"+
			"nv_trt_llm_request_metrics{request_type=\"scheduled\"} %d\n"+
			"nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\"} %v\n"+
			"nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"tokens_per\"} 16\n"+
			"nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\"} %d\n"+
			"nv_inference_request_success %d\n", s.waiting, s.running, f, s.blocks, s.done)
	}
	page := fmt.Sprintf("vllm:num_requests_waiting %d\nvllm:num_requests_running %d\nvllm:kv_cache_usage_perc %v\n"+
		"vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"%d\"} 1\nvllm:prompt_tokens_total %d\n",
		s.waiting, s.running, f, s.blocks, s.done)
	if s.started > 0 {
		page += fmt.Sprintf("process_start_time_seconds %d\n", s.started)
	}
	if len(s.lora) > 0 {
		page += fmt.Sprintf("vllm:lora_requests_info{running_lora_adapters=%q,waiting_lora_adapters=%q,"+
			"max_lora=\"4\"} %d.5\n", strings.Join(s.lora, ","), s.lora[0], time.Now().Unix())
	}
	return page
}
