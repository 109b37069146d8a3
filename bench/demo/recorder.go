package main

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/series"
)

// recorder measures requests as they pass, for the table; the summary has the load client's own figures. Safe for
// concurrent use.
type recorder struct {
	transport *http.Transport

	mu sync.Mutex
	// sent and firstTokens are by server; the empty name stands for all of them.
	sent        map[string]int
	firstTokens map[string][]time.Duration
}

func newRecorder() *recorder {
	return &recorder{
		transport: &http.Transport{MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096, DisableCompression: true},
		sent:      map[string]int{}, firstTokens: map[string][]time.Duration{},
	}
}

func (r *recorder) client() *http.Client { return &http.Client{Transport: r} }

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	start := time.Now()
	response, err := r.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if server := response.Header.Get("X-Sim-Server"); server != "" {
		r.mu.Lock()
		r.sent[server]++
		r.sent[""]++
		r.mu.Unlock()
		response.Body = &timedBody{response.Body, func() { r.first(server, time.Since(start)) }}
	}
	return response, nil
}

func (r *recorder) first(server string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.firstTokens[server] = append(r.firstTokens[server], d)
	r.firstTokens[""] = append(r.firstTokens[""], d)
}

// server returns how many requests a server got, and percentiles 50 and 99 of its time to first token so far.
func (r *recorder) server(name string) (sent int, p50, p99 time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sorted := slices.Sorted(slices.Values(r.firstTokens[name]))
	if len(sorted) > 0 {
		p50, p99 = series.Percentile(sorted, 50), series.Percentile(sorted, 99)
	}
	return r.sent[name], p50, p99
}

// timedBody tells when the first bytes of a body are there. A streaming server sends its headers before.
type timedBody struct {
	io.ReadCloser
	first func()
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.first != nil {
		b.first()
		b.first = nil
	}
	return n, err
}
