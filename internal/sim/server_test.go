package sim

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// serve starts a server on a port of its own and returns its base URL.
func serve(t *testing.T, config Config) (*Server, string) {
	t.Helper()
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		if err := s.Serve(l); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(func() {
		s.Close()
		served.Wait()
	})
	return s, "http://" + l.Addr().String()
}

func chatBody(text string, more string) string {
	content, _ := json.Marshal(text)
	return fmt.Sprintf(`{"model":"sim-model","messages":[{"role":"user","content":%s}]%s}`, content, more)
}

func post(t *testing.T, url, body string) (*http.Response, string) {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(b)
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: status %d, %v", url, response.StatusCode, err)
	}
	return string(b)
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("waited in vain: %s", what)
}

func TestConfigErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		config Config
		want   string
	}{
		{"slots", Config{MaxRunning: -1}, "max-num-seqs -1: want 1 to 1048576"},
		{"blocks", Config{Blocks: 1 << 30}, "num-blocks 1073741824: want 1 to 16777216"},
		{"speed", Config{Speed: -2}, "speed -2: want a number above 0"},
		{"prefill", Config{PrefillTokensPerSecond: -1}, "prefill-tokens-per-second -1: want a number above 0"},
		{"padding", Config{MetricsPadding: -1}, "metrics-padding -1: want 0 to 16384 kilobytes"},
		{"name", Config{Name: "a\nb"}, `name "a\nb": want printable ASCII`},
		{"twice", Config{Models: []string{"a"}, Adapters: []string{"a"}},
			`model "a": given twice among models and adapters`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := New(test.config); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestProtocols(t *testing.T) {
	s, url := serve(t, Config{Name: "one", Role: "decode"})
	for _, http2 := range []bool{false, true} {
		var protocols http.Protocols
		protocols.SetHTTP1(!http2)
		protocols.SetUnencryptedHTTP2(http2)
		transport := &http.Transport{Protocols: &protocols, ExpectContinueTimeout: time.Minute}
		defer transport.CloseIdleConnections()
		body := chatBody("hi", `,"max_tokens":1`)
		request, _ := http.NewRequest(http.MethodPost, url+"/v1/chat/completions?a=b",
			io.NopCloser(strings.NewReader(body)))
		request.Header.Set("Expect", "100-continue")
		request.Header.Add("X-Twice", "a")
		request.Header.Add("X-Twice", "b")
		request.Trailer = http.Header{"X-Sum": {"42"}}
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK || (response.ProtoMajor == 2) != http2 {
			t.Errorf("got status %d by %s, want 200, HTTP/2 %v", response.StatusCode, response.Proto, http2)
		}
		for header, want := range map[string]string{"x-sim-server": "one", "x-sim-role": "decode",
			"x-sim-address": url[7:]} {
			if got := response.Header.Get(header); got != want {
				t.Errorf("%s: got %q, want %q", header, got, want)
			}
		}
		all := s.Requests()
		got, sum := all[len(all)-1], sha256.Sum256([]byte(body))
		if got.Body != body || got.BodyBytes != len(body) || got.BodySHA256 != hex.EncodeToString(sum[:]) ||
			got.Path != "/v1/chat/completions?a=b" || fmt.Sprint(got.Headers["x-twice"]) != "[a b]" ||
			fmt.Sprint(got.Trailers["x-sum"]) != "[42]" {
			t.Errorf("recorded request: got %+v", got)
		}
	}
}

func TestClientThatLeavesFreesItsSlot(t *testing.T) {
	for _, stream := range []bool{false, true} {
		s, url := serve(t, Config{MaxRunning: 1, TimePerOutputToken: time.Second, OutputTokens: 1000})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		body := chatBody("stay", fmt.Sprintf(`,"stream":%v`, stream))
		request, _ := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions",
			strings.NewReader(body))
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			response, err := http.DefaultClient.Do(request)
			if err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		}()
		eventually(t, "request runs", func() bool { return s.engine.load().Running == 1 })
		cancel()
		<-gone
		eventually(t, "slot is free", func() bool { return s.engine.load().Running == 0 })
		checkIdle(t, s.engine)
	}
}

func TestStreamFlushesEachToken(t *testing.T) {
	s, url := serve(t, Config{TimePerOutputToken: time.Hour})
	response, err := http.Post(url+"/v1/chat/completions", "", strings.NewReader(chatBody("hi", `,"stream":true`)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for want := range strings.SplitSeq(`"role":"assistant"||"delta":{"content":`, "|") {
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("got line %q, want one with %s", lines.Text(), want)
		}
	}
	s.Close()
	for lines.Scan() {
		if strings.Contains(lines.Text(), "DONE") {
			t.Error("a stream that the server broke off ends like a whole one")
		}
	}
	if lines.Err() == nil {
		t.Error("a stream that the server broke off ends without an error")
	}
}

func TestMetricsPage(t *testing.T) {
	s, url := serve(t, Config{Adapters: []string{"a"}, MetricsPadding: 60, Blocks: 100, TimePerOutputToken: -1})
	post(t, url+"/v1/chat/completions", chatBody(strings.Repeat("word", 64), `,"max_tokens":2`))
	post(t, url+"/v1/chat/completions", chatBody(strings.Repeat("word", 64), `,"max_tokens":2`))
	page := get(t, url+"/metrics")
	if len(page) < 60<<10 || len(page) > 90<<10 {
		t.Errorf("page with 60 KB of padding: got %d bytes", len(page))
	}
	for _, want := range []string{
		`vllm:num_requests_running{engine="0",model_name="sim-model"} 0.0`,
		`vllm:num_requests_waiting{engine="0",model_name="sim-model"} 0.0`,
		`vllm:kv_cache_usage_perc{engine="0",model_name="sim-model"} 0.0`,
		`vllm:prefix_cache_hits_total{engine="0",model_name="sim-model"} 64.0`,
		`vllm:prompt_tokens_total{engine="0",model_name="sim-model"} 140.0`,
		`vllm:generation_tokens_total{engine="0",model_name="sim-model"} 4.0`,
		`vllm:request_success_total{engine="0",finished_reason="length",model_name="sim-model"} 2.0`,
		`vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="sim-model"} 2.0`,
		`vllm:e2e_request_latency_seconds_count{engine="0",model_name="sim-model"} 2.0`,
		`block_size="16"`, `num_gpu_blocks="100"`,
		`vllm:lora_requests_info{max_lora="4",running_lora_adapters="",waiting_lora_adapters=""} `,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %s", want)
		}
	}
	var lines int
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "# ") && len(strings.Fields(line)) != 2 {
			t.Errorf("line %q: want a name and a value", line)
		}
		lines++
	}
	if strings.Count(page, "# TYPE") != strings.Count(page, "# HELP") || lines < 500 {
		t.Errorf("got %d lines, %d types and %d helps", lines, strings.Count(page, "# TYPE"),
			strings.Count(page, "# HELP"))
	}
	if s.Count() != 2 {
		t.Errorf("count: got %d, want 2: probes do not count", s.Count())
	}
	const names = "?name[]=vllm:num_requests_running&name[]=vllm:prompt_tokens_total"
	if whole := get(t, url+"/metrics"+names); len(whole) < len(page)/2 {
		t.Errorf("without a slash behind the path names count, want them passed over as vLLM does:\n%s", whole)
	}
	few := get(t, url+"/metrics/"+names)
	if got := strings.Count(few, "# TYPE"); got != 2 || !strings.Contains(few, "vllm:prompt_tokens_total{") {
		t.Errorf("the page of two metrics has %d:\n%s", got, few)
	}
}

func TestLoRASeriesKeepPastStates(t *testing.T) {
	page := newMetricsPage(Config{Adapters: []string{"a"}, Models: []string{"m"}, MaxAdapters: 1})
	for i := range 20 {
		series := page.loraNow(load{runningLoRA: []string{fmt.Sprintf("a%02d", i)}})
		if want := min(i+1, maxLoraSeries); len(series) != want {
			t.Fatalf("series after %d states: got %d, want %d", i+1, len(series), want)
		}
		newest := series[0]
		for _, s := range series {
			if s.time >= newest.time {
				newest = s
			}
		}
		if want := fmt.Sprintf(`running_lora_adapters="a%02d"`, i); !strings.Contains(newest.labels, want) {
			t.Errorf("newest series: got %s, want %s", newest.labels, want)
		}
	}
}

func TestInstant(t *testing.T) {
	s, url := serve(t, Config{Instant: true, Name: "fast"})
	response, body := post(t, url+"/v1/chat/completions", strings.Repeat("not json", 100000))
	if response.StatusCode != http.StatusOK || !json.Valid([]byte(body)) ||
		response.Header.Get("x-sim-server") != "fast" {
		t.Errorf("got status %d, server %q, body %s", response.StatusCode, response.Header.Get("x-sim-server"), body)
	}
	if s.Count() != 1 || len(s.Requests()) != 0 {
		t.Errorf("got count %d and %d records, want 1 and 0", s.Count(), len(s.Requests()))
	}
	if !strings.Contains(get(t, url+"/metrics"), "vllm:num_requests_running") {
		t.Error("no metrics in instant mode")
	}
}

func TestBodyTooLarge(t *testing.T) {
	_, url := serve(t, Config{MaxBodyBytes: 1000})
	response, body := post(t, url+"/v1/chat/completions", chatBody(strings.Repeat("a", 1000), ""))
	if response.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(body, `"code":413`) {
		t.Errorf("got %d %s, want 413", response.StatusCode, body)
	}
}

func TestLargeBody(t *testing.T) {
	s, url := serve(t, Config{Blocks: 1 << 20, PrefillTokensPerSecond: 1e12})
	response, body := post(t, url+"/v1/chat/completions", chatBody(strings.Repeat("long ", 2<<20), `,"max_tokens":1`))
	if response.StatusCode != http.StatusOK || s.Requests()[0].Body != "" || s.Requests()[0].BodyBytes < 10<<20 {
		t.Errorf("got %d %s, recorded %d bytes", response.StatusCode, body, s.Requests()[0].BodyBytes)
	}
}

func TestClosedServerRefuses(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(l); err != nil {
		t.Errorf("Serve after Close: got %v, want nil", err)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions",
		strings.NewReader(chatBody("hi", `,"stream":true`))))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("after Close: got %d %s, want 503", w.Code, w.Body)
	}
}
