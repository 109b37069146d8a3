package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

// hang has the first server answer nothing while its page says that it is idle.
func hang(ctx context.Context, t *target) (string, []string, error) {
	tell := func(ctx context.Context, path, body string) error {
		if got, err := post(ctx, t.server(0, path), body, nil); err != nil || got.status != http.StatusNoContent {
			return fmt.Errorf("%s %s: got %d, %w", path, body, got.status, err)
		}
		return nil
	}
	if err := tell(ctx, "/sim/fail", `{"mode":"hang"}`); err != nil {
		return "", nil, err
	}
	if err := tell(ctx, "/sim/metrics", `{"waiting":0,"running":0,"kv":0}`); err != nil {
		return "", nil, err
	}
	<-ctx.Done()
	ctx = context.WithoutCancel(ctx)
	return "1 of 4 servers hangs; its page shows nothing waiting and nothing running",
		nil, errors.Join(tell(ctx, "/sim/fail", `{"mode":"none"}`), tell(ctx, "/sim/metrics", `{}`))
}

// hostileOn is whether the hostile server shows its page, or that of the server behind it.
var hostileOn atomic.Bool

// hostilePage puts a server before the first one that answers as that one does, but for its metrics.
func hostilePage(endpoints []stack.Endpoint) error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: endpoints[0].Address})
	behind.FlushInterval, behind.ErrorLog = -1, log.New(io.Discard, "", 0)
	page := pageOfLies()
	endpoints[0].Address = listener.Addr().String()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" && hostileOn.Load() {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			_, _ = io.WriteString(w, page)
			return
		}
		// Otherwise the server closes the request's body when the answer begins, and the proxy the connection on which
		// it comes.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			panic(err) // it serves HTTP/1
		}
		behind.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(listener) }() // ends with the command
	return nil
}

// pageOfLies is a page that a parser of metrics has to survive.
func pageOfLies() string {
	var b strings.Builder
	b.WriteString("vllm:num_requests_waiting 4294967295\nvllm:num_requests_running -7\nvllm:kv_cache_usage_perc -1\n" +
		"vllm:cache_config_info{block_size=\"1000000\",num_gpu_blocks=\"4294967295\"} 1\n")
	var names []string
	for i := range 1023 {
		names = append(names, fmt.Sprintf("adapter-%04d", i))
	}
	for i := range 20_000 {
		names = append(names, fmt.Sprintf("adapter-%04d", (i*7)%1023))
	}
	all := strings.Join(names, ",")
	fmt.Fprintf(&b,
		"vllm:lora_requests_info{running_lora_adapters=\"%s\",waiting_lora_adapters=\"%s\",max_lora=\"4\"} 1\n", all,
		all)
	return b.String()
}

func showPage(ctx context.Context, t *target) (string, []string, error) {
	hostileOn.Store(true)
	defer hostileOn.Store(false)
	<-ctx.Done()
	var leaks []string
	if err := stack.Get("http://"+stack.Address(t.sidecarPort)+"/healthz", nil); err != nil {
		leaks = append(leaks, fmt.Sprintf("the sidecar is not healthy: %v", err))
	}
	return "1,023 LoRA names and 40,000 repeats, KV usage -1, blocks of 10^6 tokens, a queue of 2^32-1", leaks, nil
}

// hotRestart starts an Envoy that takes over, twice.
func hotRestart(ctx context.Context, t *target) (string, []string, error) {
	restarts := 0
	for restarts < 2 && ctx.Err() == nil {
		sleep(ctx, time.Second)
		old := t.envoy
		if err := t.startEnvoy(context.WithoutCancel(ctx)); err != nil {
			return "", nil, err
		}
		restarts++
		select {
		case <-old.Done():
		case <-time.After(10 * time.Second):
			return "", nil, errors.New("the old Envoy does not end:\n" + old.Log())
		}
	}
	return fmt.Sprintf("%d hot restarts, a connection for each request", restarts), nil, nil
}
