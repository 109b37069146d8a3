package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// asks sends a completion to a rank, "" for any, and returns how many tokens of its prompt were cached.
func asks(t *testing.T, s *Server, rank, text string) (cached int) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/completions",
		strings.NewReader(fmt.Sprintf(`{"prompt":%q,"max_tokens":1}`, text)))
	if rank != "" {
		r.Header.Set("X-Data-Parallel-Rank", rank)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var answer struct {
		Usage struct {
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("got %d %s, %v, want an answer", w.Code, w.Body, err)
	}
	return answer.Usage.Details.Cached
}

func newQuickServer(t *testing.T, c Config) *Server {
	t.Helper()
	c.BlockTokens, c.TimePerOutputToken, c.PrefillTokensPerSecond = 4, -1, 1e9
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestRanks: requests find what their own rank has, and go to all in turn unless they say where.
func TestRanks(t *testing.T) {
	s := newQuickServer(t, Config{Ranks: 3})
	text := strings.Repeat("abcd", 10)
	for _, tc := range []struct {
		name, rank string
		want       int
	}{
		{"the first", "", 0}, {"the second", "", 0}, {"the second again", "1", 8}, {"the last", "", 0},
		{"the first again", "", 8}, {"no number", "x", 8}, {"the last again", "2", 8},
	} {
		if got := asks(t, s, tc.rank, text); got != tc.want {
			t.Errorf("%s: got %d cached tokens, want %d", tc.name, got, tc.want)
		}
	}
	asks(t, s, "1", "another prompt that the second alone has")
	for path, want := range map[string]string{
		"/sim/state":  `"cachedBlocks":12,"reservedBlocks":0,"blocks":24576`,
		"/sim/lookup": `{"blocks":2,"ranks":[{"blocks":0,"offloadedBlocks":0},{"blocks":2,"offloadedBlocks":0},{"blocks":0,"offloadedBlocks":0}]}`,
	} {
		method, body := http.MethodGet, ""
		if path == "/sim/lookup" {
			method, body = http.MethodPost, `{"prompt":"another prompt that the second alone has"}`
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %s, want %s in it", path, w.Body, want)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/completions", strings.NewReader(`{"prompt":"a"}`))
	r.Header.Set("X-Data-Parallel-Rank", "3")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if want := "data_parallel_rank 3: want 0 to 2"; w.Code != http.StatusBadRequest ||
		!strings.Contains(w.Body.String(), want) {
		t.Errorf("got %d %s, want 400 and %q", w.Code, w.Body, want)
	}
}

// TestFullRank: a request that its rank has no room for holds up those of its rank behind it, and no others.
func TestFullRank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(Config{Ranks: 2, Blocks: 10, BlockTokens: 4})
		ctx, leave := context.WithCancel(t.Context())
		var running sync.WaitGroup
		var all []*sequence
		for i, asks := range []struct{ rank, blocks int }{{0, 8}, {0, 4}, {0, 1}, {1, 8}, {1, 4}, {1, 1}} {
			s := textSequence(e, strings.Repeat(fmt.Sprint("req", i), 4*asks.blocks), 0)
			s.rank = asks.rank
			all = append(all, s)
			running.Go(func() { _ = e.run(ctx, s, 1, noEmit) })
			synctest.Wait()
		}
		for i, s := range all {
			if got, want := s.waiting == nil, i%3 == 0; got != want {
				t.Errorf("request %d: it runs: %v, want %v", i, got, want)
			}
		}
		leave()
		running.Wait()
		checkIdle(t, e)
	})
}

// TestOffload: what there is no room for any more comes back from the CPU's memory, until that has no room, either.
func TestOffload(t *testing.T) {
	s := newQuickServer(t, Config{Blocks: 11, OffloadBlocks: 14})
	prompts := make([]string, 4)
	for i := range prompts {
		prompts[i] = strings.Repeat(fmt.Sprint("prompt ", i, " "), 17)[:35*tokenBytes]
	}
	for i, want := range []struct{ prompt, cached int }{
		{0, 0}, {1, 0}, {0, 32}, {1, 32}, {2, 0}, {3, 0}, {2, 32}, {0, 0},
	} {
		if got := asks(t, s, "", prompts[want.prompt]); got != want.cached {
			t.Errorf("request %d, prompt %d: got %d cached tokens, want %d", i, want.prompt, got, want.cached)
		}
	}
}
