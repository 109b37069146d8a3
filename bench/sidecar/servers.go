package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

// servers are the model servers, as far as their metrics go.
type servers struct {
	all       []*server
	listeners []net.Listener
}

// server is one of them.
type server struct {
	response atomic.Pointer[[]byte]
	scrapes  atomic.Int64
	mu       sync.Mutex
	waiting  int
	changed  time.Time // zero once the change was seen at the ingest
	// overtaken counts changes of which nothing was seen until the next one: whoever is that slow has no delay of them.
	overtaken int
}

// start listens on count ports from first on.
func start(first, count, kilobytes, load int) (*servers, error) {
	s := &servers{}
	rest := filler(kilobytes)
	for i := range count {
		listener, err := net.Listen("tcp", stack.Address(first+i))
		if err != nil {
			s.close()
			return nil, err
		}
		one := &server{}
		one.set(load, rest)
		s.all, s.listeners = append(s.all, one), append(s.listeners, listener)
		go one.accept(listener)
	}
	return s, nil
}

func (s *servers) close() {
	for _, l := range s.listeners {
		_ = l.Close()
	}
}

// scrapes is how many pages were asked for so far. A page counts before whoever asked can have it.
func (s *servers) scrapes() (n int64) {
	for _, one := range s.all {
		n += one.scrapes.Load()
	}
	return n
}

// overtaken is how many changes nobody has seen before the next ones came.
func (s *servers) overtaken() (n int) {
	for _, one := range s.all {
		one.mu.Lock()
		n += one.overtaken
		one.mu.Unlock()
	}
	return n
}

// filler is histograms of so many kilobytes.
func filler(kilobytes int) string {
	var b strings.Builder
	for i := 0; b.Len() < kilobytes<<10; i++ {
		name := fmt.Sprintf("vllm:request_measure_%d_seconds", i)
		fmt.Fprintf(&b, "# HELP %s Histogram of a measure of requests.\n# TYPE %s histogram\n", name, name)
		for _, bound := range []string{"0.3", "0.5", "0.8", "1.0", "1.5", "2.0", "2.5", "5.0", "10.0", "15.0", "20.0",
			"30.0", "+Inf"} {
			fmt.Fprintf(&b, "%s_bucket{engine=\"0\",le=\"%s\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} %d.0\n",
				name, bound, 17*i)
		}
		fmt.Fprintf(&b, "%s_count{engine=\"0\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} %d.0\n", name, 17*i)
	}
	return b.String()
}

func (s *server) set(waiting int, rest string) {
	const labels = `{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"}`
	running, usage := 3, 0.25
	if waiting == 0 {
		running, usage = 0, 0
	}
	page := fmt.Sprintf("vllm:num_requests_running%s %d.0\nvllm:num_requests_waiting%s "+
		"%d.0\nvllm:kv_cache_usage_perc%s %g\n"+
		"vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"27644\"} 1.0\n%s", labels, running, labels, waiting,
		labels, usage, rest)
	response := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; "+
		"charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(page), page)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.response.Store(&response)
	if !s.changed.IsZero() {
		s.overtaken++
	}
	s.waiting, s.changed = waiting, time.Now()
}

// seen returns how long ago the waiting requests became what they are, the first time it is asked.
func (s *server) seen(waiting int) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waiting != s.waiting || s.changed.IsZero() {
		return 0, false
	}
	took := time.Since(s.changed)
	s.changed = time.Time{}
	return took, true
}

func (s *server) accept(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go s.answer(connection)
	}
}

// answer sends the page for each request, read as cheaply as can be.
func (s *server) answer(connection net.Conn) {
	defer connection.Close()
	reader := bufio.NewReader(connection)
	for {
		for {
			line, err := reader.ReadSlice('\n')
			if err != nil {
				return
			}
			if len(bytes.TrimSpace(line)) == 0 {
				break
			}
		}
		s.scrapes.Add(1)
		if _, err := connection.Write(*s.response.Load()); err != nil {
			return
		}
	}
}
