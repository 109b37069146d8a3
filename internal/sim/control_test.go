package sim

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

func tell(t *testing.T, url, body string) {
	t.Helper()
	if response, answer := post(t, url, body); response.StatusCode != http.StatusNoContent {
		t.Fatalf("POST %s %s: got %d %s, want 204", url, body, response.StatusCode, answer)
	}
}

func TestPinnedMetrics(t *testing.T) {
	_, url := serve(t, Config{})
	const labels = `{engine="0",model_name="sim-model"} `
	for _, test := range []struct{ name, pins, waiting, kv string }{
		{"all", `{"waiting":7,"running":3,"kv":0.25}`, "7.0", "0.25"},
		{"one", `{"waiting":9,"kv":null}`, "9.0", "0.0"},
		{"none", `{}`, "0.0", "0.0"},
		{"another process", `{"start":5,"promptTokens":3}`, "0.0", "0.0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tell(t, url+"/sim/metrics", test.pins)
			page := get(t, url+"/metrics")
			for _, want := range []string{"vllm:num_requests_waiting" + labels + test.waiting,
				"vllm:kv_cache_usage_perc" + labels + test.kv} {
				if !strings.Contains(page, want+"\n") {
					t.Errorf("page lacks %s", want)
				}
			}
			start, tokens := "\nprocess_start_time_seconds 5.0\n", "\nvllm:prompt_tokens_total"+labels+"3.0\n"
			if pinned := test.name == "another process"; strings.Contains(page, start) != pinned ||
				strings.Contains(page, tokens) != pinned {
				t.Errorf("start and tokens: want them pinned %v, got\n%s", pinned, page)
			}
		})
	}
	if !strings.Contains(get(t, url+"/metrics"), "\nprocess_start_time_seconds ") {
		t.Error("page lacks the process's start")
	}
	tell(t, url+"/sim/metrics", `{"start":0}`)
	if strings.Contains(get(t, url+"/metrics"), "process_start_time_seconds") {
		t.Error("page has a start that was pinned to nothing")
	}
}

func TestControlMistakes(t *testing.T) {
	_, url := serve(t, Config{})
	for _, test := range []struct {
		name, path, body string
		status           int
	}{
		{"unknown pin", "/sim/metrics", `{"wait":1}`, 400},
		{"unknown mode", "/sim/fail", `{"mode":"explode"}`, 400},
		{"unknown target", "/sim/fail", `{"mode":"500","target":"x"}`, 400},
		{"answers that are not cut", "/sim/fail", `{"mode":"cut","target":"probes"}`, 400},
		{"not JSON", "/sim/fail", `500`, 400},
		{"unknown path", "/sim/other", `{}`, 404},
	} {
		t.Run(test.name, func(t *testing.T) {
			if response, body := post(t, url+test.path, test.body); response.StatusCode != test.status {
				t.Errorf("got %d %s, want %d", response.StatusCode, body, test.status)
			}
		})
	}
}

func TestRecords(t *testing.T) {
	s, url := serve(t, Config{})
	for range loggedRequests + 5 {
		post(t, url+"/v1/anything", "{}")
	}
	var list []Received
	if err := json.Unmarshal([]byte(get(t, url+"/sim/requests")), &list); err != nil || len(list) != loggedRequests {
		t.Fatalf("got %d records, %v, want %d", len(list), err, loggedRequests)
	}
	if got := get(t, url+"/sim/count"); got != `{"count":105}` {
		t.Errorf("count: got %s, want 105", got)
	}
	request, _ := http.NewRequest(http.MethodDelete, url+"/sim/requests", nil)
	if _, err := http.DefaultClient.Do(request); err != nil || s.Count() != 0 || len(s.Requests()) != 0 {
		t.Errorf("after DELETE: %v, count %d, %d records", err, s.Count(), len(s.Requests()))
	}
}

func TestFailures(t *testing.T) {
	for _, instant := range []bool{false, true} {
		_, url := serve(t, Config{Instant: instant, TimePerOutputToken: -1})
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		try := func(timeout time.Duration) (status int, answer string, err error) {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			request, _ := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions",
				strings.NewReader(chatBody("hi", `,"stream":true`)))
			response, err := client.Do(request)
			if err != nil {
				return 0, "", err
			}
			defer response.Body.Close()
			b, err := io.ReadAll(response.Body)
			return response.StatusCode, string(b), err
		}
		tell(t, url+"/sim/fail", `{"mode":"500","count":2}`)
		for _, want := range []int{500, 500, 200} {
			if status, _, err := try(time.Minute); status != want || err != nil {
				t.Errorf("500 twice: got %d, %v, want %d", status, err, want)
			}
		}
		tell(t, url+"/sim/fail", `{"mode":"full"}`)
		if status, _, err := try(time.Minute); status != 503 || err != nil {
			t.Errorf("full: got %d, %v, want 503", status, err)
		}
		tell(t, url+"/sim/fail", `{"mode":"reset"}`)
		if _, _, err := try(time.Minute); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("reset: got %v, want %v", err, syscall.ECONNRESET)
		}
		tell(t, url+"/sim/fail", `{"mode":"hang"}`)
		if _, _, err := try(50 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("hang: got %v, want %v", err, context.DeadlineExceeded)
		}
		tell(t, url+"/sim/fail", `{"mode":"slow-headers","delayMillis":200}`)
		start := time.Now()
		if status, _, err := try(time.Minute); status != 200 || time.Since(start) < 200*time.Millisecond {
			t.Errorf("slow-headers: got %d, %v after %v, want 200 after 200ms", status, err, time.Since(start))
		}
		tell(t, url+"/sim/fail", `{"mode":"cut"}`)
		begun := `"content":`
		if instant {
			begun = instantBody[:len(instantBody)/2]
		}
		if status, answer, err := try(time.Minute); status != 200 || err == nil || !strings.Contains(answer, begun) {
			t.Errorf("cut: got %d, %v after %q, want an error behind %s", status, err, answer, begun)
		}
		tell(t, url+"/sim/fail", `{"mode":"500","target":"probes"}`)
		if status, _, err := try(time.Minute); status != 200 || err != nil {
			t.Errorf("failing probes: the API gave %d, %v", status, err)
		}
		if response, err := client.Get(url + "/metrics"); err != nil || response.StatusCode != 500 {
			t.Errorf("failing probes: got %v, %v, want 500", response, err)
		}
		tell(t, url+"/sim/fail", `{"mode":"500","target":"all"}`)
		if status, _, err := try(time.Minute); status != 500 || err != nil {
			t.Errorf("all failing: the API gave %d, %v, want 500", status, err)
		}
		if response, err := client.Get(url + "/metrics"); err != nil || response.StatusCode != 500 {
			t.Errorf("all failing: probes got %v, %v, want 500", response, err)
		}
		tell(t, url+"/sim/fail", `{"mode":"none"}`)
		get(t, url+"/health")
	}
}

// TestInstantAgain: a failure that has ended, and one of probes, leave an instant server instant.
func TestInstantAgain(t *testing.T) {
	for _, test := range []struct {
		name, failure string
		want          []int
	}{
		{"twice", `{"mode":"500","count":2}`, []int{500, 500, 200, 200}},
		{"probes", `{"mode":"500","target":"probes"}`, []int{200}},
		{"late", `{"mode":"slow-headers","delayMillis":1}`, []int{200}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, url := serve(t, Config{Instant: true})
			tell(t, url+"/sim/fail", test.failure)
			for i, want := range test.want {
				if response, body := post(t, url+"/v1/chat/completions", "not json"); response.StatusCode != want ||
					want == 200 && body != instantBody {
					t.Errorf("request %d: got %d %s, want %d", i, response.StatusCode, body, want)
				}
			}
			if got := s.Count(); got != uint64(len(test.want)) || len(s.Requests()) != 0 {
				t.Errorf("got count %d and %d records, want %d and 0", got, len(s.Requests()), len(test.want))
			}
		})
	}
}
